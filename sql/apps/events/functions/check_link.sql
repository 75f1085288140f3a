-- check_link: raises ER422 for a text that is no link for a QR code. The error has no part of it: a link may be secret.
create or replace function events.check_link(context text, link text) returns void
language plpgsql immutable set search_path = pg_catalog, events, pg_temp as $$
begin
    if coalesce(length(check_link.link), 0) not between 1 and 1000 then
        raise exception '%: link: expected 1 to 1,000 characters, got %',
            context, coalesce(length(check_link.link)::text, 'null') using errcode = 'ER422';
    elsif octet_length(convert_to(check_link.link, 'UTF8')) > 2000 then
        raise exception '%: link: expected at most 2,000 bytes of UTF-8, got %',
            context, octet_length(convert_to(check_link.link, 'UTF8')) using errcode = 'ER422';
    elsif check_link.link !~ '^[A-Za-z][A-Za-z0-9+.-]*://[^[:space:][:cntrl:]]+$'
        -- Without a host.
        or check_link.link collate "C" ~* '^https?://[/?#:]'
        -- A browser runs these, or opens the phone's own files.
        or check_link.link collate "C" ~* '^(javascript|data|vbscript|file):'
    then
        raise exception
            '%: link: expected https://… or a URL of an app, without spaces, got % characters that are neither',
            context, length(check_link.link) using errcode = 'ER422';
    end if;
end
$$;
