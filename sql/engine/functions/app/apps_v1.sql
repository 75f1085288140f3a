-- apps_v1: returns the names of the installed apps, sorted.
create or replace function errand_internal.apps_v1() returns text[]
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select array(select name from errand.app order by name)
$$;
