-- schema_version: returns the number of the engine's newest migration in this database.
-- errand: for enqueuer, worker, ops, monitor
-- errand: topic upgrades
create or replace function errand.schema_version() returns int
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select max(left(name, 4)::int) from errand.migration where name not like '%/%'
$$;
