-- roles: who may do what. Five roles without login; give them to those who log in: grant errand_ops to alice.
--
--   errand_owner      owns everything; nobody needs it to work with the queue
--   errand_worker     the processes that do the work: the versioned functions, errand.metrics for /metrics, and no table
--   errand_enqueuer   the application: enqueues, and nothing else
--   errand_ops        people: looks at everything, cancels, retries, pauses, edits schedules and limits
--   errand_monitor    dashboards and alerts: status without what jobs hold, or whose it is
--
-- Roles belong to the whole server, and who migrates may not be allowed to make them: then nothing fails, the rights are
-- given to those roles that exist, and errand.apply_rights says what is missing. Nothing is granted to PUBLIC.

-- namespaces: the schemas that are ours: the engine's and those of the apps that are there.
create or replace function errand.namespaces() returns oid[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select array_agg(oid) from pg_namespace where nspname = 'errand' or nspname in (select name from errand.app)
$$;
comment on function errand.namespaces() is 'The schemas whose rights and owner errand.apply_rights looks after';

-- app_rows: the rows of a function of that name of each app that has one.
create or replace function errand.app_rows(function text) returns setof record
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    app text;
begin
    for app in select app.name from errand.app order by app.name loop
        if to_regprocedure(format('%I.%I()', app, function)) is not null then
            return query execute format('select * from %I.%I()', app, function);
        end if;
    end loop;
end
$$;
comment on function errand.app_rows(text) is 'The rows of a function of that name of each app that has one';

-- rights: what each role may call and read, by name: the engine's, and what each app says in its own function rights().
-- Whoever reads a view calls the functions that stand in it himself, so those are here too. What stands here without
-- being there yet does no harm.
create or replace function errand.rights() returns table (role text, what text, object text, privilege text)
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    with listed(role, what, names) as (
        values
            ('errand_enqueuer', 'function', 'errand.enqueue errand.enqueue_many errand.enqueue_payloads_v1 '
                'errand.schema_version'),
            ('errand_worker', 'function', 'errand.enqueue errand.enqueue_many errand.metrics errand.schema_version '
                'errand.copy_of'),
            ('errand_worker', 'view', 'errand.migration errand.script errand.upgrade errand.app'),
            ('errand_ops', 'function', 'errand.enqueue errand.enqueue_many errand.cancel errand.cancel_where errand.retry '
                'errand.retry_where errand.reschedule errand.discard errand.explain errand.pause errand.resume '
                'errand.release_worker errand.schedule_put errand.schedule_pause errand.schedule_resume '
                'errand.schedule_drop errand.schedule_run_now errand.schedule_preview errand.dependency_open '
                'errand.dependency_close errand.set_limit errand.set_rate errand.health errand.metrics errand.horizon '
                'errand.queue_names errand.every_text errand.next_ticks errand.schema_version errand.sees_content '
                'errand.state_of errand.adopt errand.copy_of'),
            ('errand_ops', 'view', 'errand.job_status errand.queue_status errand.kind_status errand.worker_status '
                'errand.job_progress errand.schedule_status errand.schedule_ticks errand.recent_errors errand.stuck '
                'errand.overdue errand.dependency_status errand.limit_status errand.table_health '
                'errand.horizon_blockers errand.audit errand.maintenance_status errand.migration errand.script '
                'errand.upgrade errand.app'),
            ('errand_monitor', 'function', 'errand.explain errand.schedule_preview errand.health errand.metrics '
                'errand.horizon errand.queue_names errand.every_text errand.next_ticks errand.schema_version '
                'errand.sees_content errand.state_of errand.copy_of'),
            ('errand_monitor', 'view', 'errand.job_status errand.job_progress errand.queue_status errand.kind_status '
                'errand.worker_status errand.schedule_status '
                'errand.schedule_ticks errand.recent_errors errand.stuck errand.overdue errand.dependency_status '
                'errand.limit_status errand.table_health errand.horizon_blockers errand.audit errand.maintenance_status '
                'errand.migration errand.script errand.upgrade errand.app')
        union all
        select role, what, names from errand.app_rows('rights') as own(role text, what text, names text)
    )
    select role, what, name, case what when 'function' then 'EXECUTE' else 'SELECT' end
    from listed
    cross join lateral regexp_split_to_table(names, ' +') as name
    union all
    -- What only workers call carries a version.
    select 'errand_worker', 'function', pronamespace::regnamespace || '.' || proname, 'EXECUTE'
    from pg_proc
    where pronamespace = any (errand.namespaces()) and proname ~ '_v\d+$'
    union all
    select role, 'schema', nspname, 'USAGE'
    from unnest('{errand_worker,errand_enqueuer,errand_ops,errand_monitor}'::text[]) as role
    join pg_namespace on oid = any (errand.namespaces())
$$;
comment on function errand.rights() is 'What each of the five roles may call and read; errand.apply_rights gives it to them';

-- apply_rights: makes the roles that are missing, and gives and takes rights until they are those of errand.rights. What is
-- as it should be is left alone, and so is what others were granted. Answers a row for each thing that it may not do.
create or replace function errand.apply_rights() returns setof text
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    roles constant text[] := '{errand_owner,errand_worker,errand_enqueuer,errand_ops,errand_monitor}';
    role text;
    statement text;
begin
    foreach role in array roles loop
        continue when to_regrole(role) is not null;
        begin
            execute format('create role %I nologin', role);
        exception
            when insufficient_privilege then
                return next format(
                    'role %s is missing, and %s may not create roles: have `create role %s nologin` run, then migrate again',
                    role, current_user, role);
            when duplicate_object or unique_violation then
                null;                   -- another database's migration was faster
        end;
    end loop;
    for statement in select change from errand.missing_rights(roles) as change loop
        execute statement;
    end loop;
    if to_regrole('errand_owner') is not null then
        if pg_has_role(current_user, 'errand_owner', 'member') then
            for statement in select change from errand.foreign_objects() as change loop
                execute statement;
            end loop;
        else
            return next format(
                '%s is no member of errand_owner and keeps what it has made: `grant errand_owner to %s`, then migrate again',
                current_user, current_user);
        end if;
        begin
            -- For errand.horizon_blockers: sessions of others. It shows no statement of theirs.
            if not pg_has_role('errand_owner', 'pg_read_all_stats', 'member') then
                grant pg_read_all_stats to errand_owner;
            end if;
        exception
            when unique_violation then
                null;
            when insufficient_privilege then
                return next format(
                    'errand.horizon_blockers will not show sessions of others: have `grant pg_read_all_stats to '
                    'errand_owner` run, which %s may not', current_user);
        end;
    end if;
end
$$;
comment on function errand.apply_rights() is
    'Makes the five roles and gives them their rights; answers what it may not do. For errand migrate';

-- missing_rights: the grants and revokes that lead from the rights that there are to those of errand.rights, for the roles
-- that exist and for PUBLIC.
create or replace function errand.missing_rights(roles text[]) returns setof text
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    with object as (
        select 'function' as what, oid::regprocedure::text as name, pronamespace::regnamespace || '.' || proname as short,
            'function' as word, proacl as acl, 'f'::"char" as sort, proowner as owner
        from pg_proc
        where pronamespace = any (errand.namespaces())
        union all
        select 'view', oid::regclass::text, relnamespace::regnamespace || '.' || relname,
            case relkind when 'S' then 'sequence' else 'table' end, relacl, case relkind when 'S' then 's' else 'r' end::"char",
            relowner
        from pg_class
        where relnamespace = any (errand.namespaces()) and relkind in ('r', 'p', 'v', 'm', 'S')
        union all
        select 'schema', nspname, nspname, 'schema', nspacl, 'n', nspowner
        from pg_namespace
        where oid = any (errand.namespaces())
        union all
        select 'type', type.oid::regtype::text, typnamespace::regnamespace || '.' || typname, 'type', typacl, 'T', typowner
        from pg_type as type
        left join pg_class as class on class.oid = typrelid
        where typnamespace = any (errand.namespaces())
            and (typtype in ('e', 'd', 'r') or typtype = 'c' and class.relkind = 'c')
    ),
    actual as (
        select object.word, object.name, coalesce(pg_roles.rolname, 'public') as role, entry.privilege_type as privilege
        from object
        cross join lateral aclexplode(coalesce(object.acl, acldefault(object.sort, object.owner))) as entry
        left join pg_roles on pg_roles.oid = entry.grantee
        where entry.grantee <> object.owner and (entry.grantee = 0 or pg_roles.rolname = any (roles))
    ),
    wanted as (
        select distinct object.word, object.name, known.role, known.privilege
        from errand.rights() as known
        join object on object.what = known.what and object.short = known.object
        where to_regrole(known.role) is not null
    )
    select format('revoke %s on %s %s from %s', privilege, word, name, role)
    from (select * from actual except select * from wanted) as surplus
    union all
    select format('grant %s on %s %s to %s', privilege, word, name, role)
    from (select * from wanted except select * from actual) as missing
    union all
    select format('grant select (%I) on %s to errand_monitor', attname, attrelid::regclass)
    -- Views of the apps of which errand_monitor reads all columns but those that say whose something is, or what it says.
    -- Applications ask these views by such columns: to show nulls instead would cost them the index.
    from errand.app_rows('hidden_columns') as hidden(name text, columns text[])
    join pg_attribute on attrelid = to_regclass(hidden.name) and attnum > 0 and not attisdropped
    where attname <> all (hidden.columns) and to_regrole('errand_monitor') is not null
        and not has_column_privilege('errand_monitor', attrelid, attnum, 'SELECT')
$$;
comment on function errand.missing_rights(text[]) is
    'The grants and revokes that lead from the rights that there are to those of errand.rights';

-- foreign_objects: the statements that give errand_owner what the one who calls has made, or a superuser. What another user
-- owns stays his: he would not get at it any more.
create or replace function errand.foreign_objects() returns setof text
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    with given as (
        select oid as owner from pg_roles where rolsuper or rolname = current_user
    ),
    ours as (
        select oid, nspowner from pg_namespace where oid = any (errand.namespaces())
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
comment on function errand.foreign_objects() is
    'The statements that give errand_owner what the one who calls, or a superuser, has made';

revoke execute on function
    errand.namespaces(), errand.app_rows(text), errand.rights(), errand.apply_rights(), errand.missing_rights(text[]),
    errand.foreign_objects()
from public;
select errand.apply_rights();
