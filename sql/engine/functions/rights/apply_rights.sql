-- apply_rights: creates the missing roles, and grants and revokes rights until they are those of
-- errand_internal.rights. Correct rights are left alone, and so are rights of other roles. Returns a row for each thing
-- that the caller may not do.
--
-- The objects go to errand_owner, so the caller has to be a member. From PostgreSQL 16 on, who creates a role may grant
-- it, also to itself, but may not become it until then. Before, who may create roles may grant each but a superuser's.
create or replace function errand_internal.apply_rights() returns setof text
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    roles constant text[] := '{errand_owner,errand_worker,errand_enqueuer,errand_ops,errand_monitor}';
    -- Before PostgreSQL 16 a member may always become the role.
    privilege constant text :=
        case when current_setting('server_version_num')::int < 160000 then 'member' else 'set' end;
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
                    'role %s is missing, and %s may not create roles: have `create role %s nologin` run, '
                    'then migrate again',
                    role, current_user, role);
            when duplicate_object or unique_violation then
                null;                   -- another database's migration was faster
        end;
    end loop;
    for statement in select change from errand_internal.missing_rights(roles) as change loop
        execute statement;
    end loop;
    if to_regrole('errand_owner') is not null then
        if not pg_has_role(current_user, 'errand_owner', privilege) then
            begin
                grant errand_owner to current_user;
            exception
                when insufficient_privilege or unique_violation then
                    null;               -- not allowed, or another database's migration was faster
            end;
        end if;
        if pg_has_role(current_user, 'errand_owner', privilege) then
            for statement in select change from errand_internal.foreign_objects() as change loop
                execute statement;
            end loop;
        else
            return next format(
                '%s is no member of errand_owner and keeps its objects: `grant errand_owner to %s`, then migrate again',
                current_user, current_user);
        end if;
        begin
            -- For errand.horizon_blockers: it shows sessions of other users, but no statement of theirs.
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
