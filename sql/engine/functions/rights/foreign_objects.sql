-- foreign_objects: returns the statements that give errand_owner the objects of the caller and of superusers. Objects
-- of other users stay theirs, since they could not use them any more.
-- errand: after namespaces
create or replace function errand_internal.foreign_objects() returns setof text
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    with given as (
        select oid as owner from pg_roles where rolsuper or rolname = current_user
    ),
    ours as (
        select oid, nspowner from pg_namespace where oid = any (errand_internal.namespaces())
    )
    select format('alter schema %s owner to errand_owner', ours.oid::regnamespace)
    from ours
    join given on given.owner = nspowner
    where nspowner <> to_regrole('errand_owner')
    union all
    select format(
        'alter %s %s owner to errand_owner',
        case relkind when 'S' then 'sequence' when 'v' then 'view' else 'table' end, class.oid::regclass)
    from pg_class as class
    join ours on ours.oid = relnamespace
    join given on given.owner = relowner
    where relkind in ('r', 'p', 'v', 'S') and relowner <> to_regrole('errand_owner')
        -- The sequence of an identity column goes with its table.
        and not exists (
            select from pg_depend
            where classid = 'pg_class'::regclass and objid = class.oid and relkind = 'S' and deptype in ('a', 'i'))
    union all
    select format(
        'alter %s %s owner to errand_owner', case prokind when 'a' then 'aggregate' else 'function' end,
        routine.oid::regprocedure)
    from pg_proc as routine
    join ours on ours.oid = pronamespace
    join given on given.owner = proowner
    where proowner <> to_regrole('errand_owner')
    union all
    select format('alter type %s owner to errand_owner', type.oid::regtype)
    from pg_type as type
    join ours on ours.oid = typnamespace
    join given on given.owner = typowner
    join pg_class as class on class.oid = typrelid
    where class.relkind = 'c' and typowner <> to_regrole('errand_owner')
$$;
