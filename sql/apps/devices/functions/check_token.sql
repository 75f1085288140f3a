-- check_token: raises ER422 for a text that is no token of the platform, and for an unknown platform. Returns the token
-- in the form in which it is stored: Apple's in lower case. The message shows nothing of the token.
create or replace function devices.check_token(context text, platform text, token text) returns text
language plpgsql immutable set search_path = pg_catalog, devices, pg_temp as $$
begin
    if platform is null or platform not in ('apns', 'fcm') then
        raise exception '%: platform: expected apns or fcm, got %',
            context, coalesce(quote_literal(left(platform, 100)), 'null') using errcode = 'ER422';
    elsif token is null then
        raise exception '%: token: expected one, got null', context using errcode = 'ER422';
    elsif platform = 'apns' and token !~ '^([0-9A-Fa-f]{2}){8,200}$' then
        raise exception '%: token: expected 16 to 400 hex digits, got % characters', context, length(token)
            using errcode = 'ER422';
    elsif platform = 'fcm' and (length(token) <= 1000 and token ~ '^[!-~]+$') is not true then
        raise exception '%: token: expected 1 to 1000 printable ASCII characters without blanks, got % characters',
            context, length(token)
            using errcode = 'ER422';
    end if;
    return case platform when 'apns' then lower(token collate "C") else token end;
end
$$;
