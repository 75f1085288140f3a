-- store_v1: returns the id of this database's object store; null if none is recorded.
create or replace function media.store_v1() returns uuid
language sql stable security definer set search_path = pg_catalog, media, pg_temp as $$
    select id from media.store
$$;
comment on function media.store_v1() is
    'For workers: returns the id in the marker of the object store; null if none is recorded';
