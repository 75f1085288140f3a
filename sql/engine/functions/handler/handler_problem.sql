-- handler_problem: returns why a SQL function may not handle jobs: null if it may. It is asked at the registration and
-- before each call, since functions and roles change.
--
-- The function runs with the rights of its owner, never with those of a worker. So it is security definer with a
-- search_path of its own, and the login that has registered it belongs to the owner. registered_by is null for a
-- function of an app of errand's own.
-- errand: for ops, monitor
create or replace function errand_internal.handler_problem(function text, registered_by text) returns text
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    routine pg_proc;
    owner pg_roles;
begin
    begin
        select * into routine from pg_proc where oid = to_regprocedure(handler_problem.function || '(jsonb, jsonb)');
    exception
        when insufficient_privilege then
            return format('%s: grant usage on that schema to %s', sqlerrm, current_user);
        -- The text is no name.
        when others then routine := null;
    end;
    select * into owner from pg_roles where oid = routine.proowner;
    return case
        when routine.oid is null then format(
            'expected a function with the arguments (jsonb, jsonb), got %s', quote_nullable(left(function, 120)))
        when routine.prorettype <> 'errand.outcome'::regtype or routine.proretset or routine.prokind <> 'f' then
            format('expected a function that returns errand.outcome, got %s', pg_get_function_result(routine.oid))
        when not routine.prosecdef then 'expected a security definer function, got a security invoker one'
        when not exists (select from unnest(routine.proconfig) as setting where setting like 'search_path=%') then
            'expected a function that sets its search_path, got one without'
        when not has_function_privilege(routine.oid, 'execute') then
            format('expected a function that %s may execute, got one without that grant', current_user)
        when registered_by is null and owner.rolname = current_user then null
        when owner.rolsuper then format('expected a function that no superuser owns, got one of %s', owner.rolname)
        when owner.rolname = current_user then format('expected a function of yours, got one of %s', owner.rolname)
        when registered_by is null or to_regrole(quote_ident(registered_by)) is null
            or not pg_has_role(registered_by, owner.oid, 'member')
            then format('expected a function whose owner %s is or belongs to, got one of %s',
                coalesce(registered_by, current_user), owner.rolname)
    end;
end
$$;
