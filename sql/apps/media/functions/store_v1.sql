-- store_v1: returns the id of this database's object store; null if none is recorded.
-- errand: for ops
create or replace function media.store_v1() returns uuid
language sql stable security definer set search_path = pg_catalog, media, pg_temp as $$
    select id from media.store
$$;
