-- namespaces: returns the schemas of Errand: the engine's two and those of the installed apps.
create or replace function errand_internal.namespaces() returns oid[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select array_agg(oid)
    from pg_namespace
    where nspname in ('errand', 'errand_internal') or nspname in (select name from errand.app)
$$;
