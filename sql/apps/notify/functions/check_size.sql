-- check_size: raises ER413 for a notification whose payload has more than 4,096 bytes, the most that Apple and Google
-- take. Apple's form is the longer one, and counts.
create or replace function notify.check_size(
    context text, title text, body text, data jsonb, style jsonb default null
) returns void
language plpgsql immutable set search_path = pg_catalog, notify, pg_temp as $$
declare
    most constant int := 4096;
    bytes int := case
        when num_nonnulls(title, body) = 0 then octet_length('{"aps":{"content-available":1}}')
        else octet_length('{"aps":{"alert":{"body":,"title":},"sound":"default"}}')
            + notify.json_bytes(coalesce(title, '')) + notify.json_bytes(coalesce(body, ''))
    end;
begin
    -- Apple has what a profile says in a form that is shorter than this.
    bytes := bytes + coalesce(octet_length(style::text), 0);
    -- A comma and a colon each.
    bytes := bytes + coalesce(
        (select sum(2 + notify.json_bytes(key) + notify.json_bytes(value)) from jsonb_each_text(data)), 0);
    if bytes > most then
        raise exception '%: expected at most % bytes of title, body and data as JSON, got %', context, most, bytes
            using errcode = 'ER413', hint = 'Send an id, and let the app fetch the rest.';
    end if;
end
$$;
