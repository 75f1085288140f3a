-- rights: returns what each role may call and read, by name: what the heads of the scripts declare, and the functions
-- with a version in their name, which are for workers.
--
-- A reader of a view calls the functions in it with its own rights, so those are declared too.
-- errand: after namespaces
create or replace function errand_internal.rights() returns table (role text, what text, object text, privilege text)
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select 'errand_' || role, case when is_view then 'view' else 'function' end, object,
        case when is_view then 'SELECT' else 'EXECUTE' end
    from errand.declaration
    cross join lateral unnest(roles) as role
    -- Of a view with hidden columns, errand_monitor reads the others one by one.
    where role <> 'monitor' or hidden = '{}'
    union all
    select 'errand_worker', 'function', pronamespace::regnamespace || '.' || proname, 'EXECUTE'
    from pg_proc
    where pronamespace = any (errand_internal.namespaces()) and proname ~ E'_v\\d+$'
    union all
    -- For the functions that handle jobs.
    select role, 'type', 'errand.outcome', 'USAGE'
    from unnest('{errand_enqueuer,errand_ops}'::text[]) as role
    union all
    select role, 'schema', nspname, 'USAGE'
    from unnest('{errand_worker,errand_enqueuer,errand_ops,errand_monitor}'::text[]) as role
    join pg_namespace on oid = any (errand_internal.namespaces())
$$;
