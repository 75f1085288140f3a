-- is_generated: returns whether a key is that of a card, a QR code or an archive. Jobs make those: no app hands over an
-- object there, or submits one as an original.
create or replace function media.is_generated(key text) returns boolean
language sql immutable set search_path = pg_catalog, media, pg_temp as $$
    select is_generated.key ~ '^(cards|events/[^/]+/(archives|codes))/'
$$;
