-- namespaces: the schemas that are ours: the engine's and those of the apps that are there.
create or replace function errand.namespaces() returns oid[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select array_agg(oid) from pg_namespace where nspname = 'errand' or nspname in (select name from errand.app)
$$;
comment on function errand.namespaces() is 'The schemas whose rights and owner errand.apply_rights looks after';
