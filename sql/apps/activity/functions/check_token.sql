-- check_token: raises ER422 for a text that is no device token: hex digits, in pairs. Returns it in lower case.
create or replace function activity.check_token(context text, token text) returns text
language plpgsql immutable set search_path = pg_catalog, activity, pg_temp as $$
begin
    if token !~ '^([0-9A-Fa-f]{2}){8,200}$' then
        raise exception '%: expected 16 to 400 hex digits, got % characters', context, length(token)
            using errcode = 'ER422';
    end if;
    return lower(token collate "C");
end
$$;
