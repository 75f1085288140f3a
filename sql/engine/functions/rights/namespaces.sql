-- namespaces: returns the schemas of Errand: the engine's and those of the installed apps.
create or replace function errand.namespaces() returns oid[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select array_agg(oid) from pg_namespace where nspname = 'errand' or nspname in (select name from errand.app)
$$;
