-- generates: returns whether a key is that of a QR code or an archive. For media.is_generated.
create or replace function events.generates(key text) returns boolean
language sql immutable set search_path = pg_catalog, events, pg_temp as $$
    select generates.key ~ '^events/[^/]+/(archives|codes)/'
$$;
