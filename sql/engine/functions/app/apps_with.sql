-- apps_with: returns the installed apps that have a function of that name and arguments, such as erase_person(text): an
-- app before those that it needs, so that all callers lock rows in the same order.
--
-- By such functions apps hear of each other without naming each other. The caller says in its head what it calls. Only
-- a function of the schema's owner counts.
create or replace function errand_internal.apps_with(function text) returns setof text
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select app.name
    from errand.app
    join pg_namespace on nspname = app.name
    join pg_proc on pg_proc.oid = to_regprocedure(format('%I.%s', app.name, apps_with.function)) and proowner = nspowner
    order by app.number desc
$$;
