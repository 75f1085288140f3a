-- sees_content: returns whether the caller may read the content of jobs: payloads, outputs, errors and logs.
--
-- True for members of errand_ops, for the owner of the tables and for superusers; false for a monitor. It checks the
-- role of the session (SET ROLE, or else the login), so it returns the same in a security definer function as in a
-- view.
-- errand: for ops, monitor
create or replace function errand_internal.sees_content() returns boolean
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(bool_or(pg_has_role(caller.role, allowed.role, 'USAGE')), false)
    from (
        select to_regrole(quote_ident(coalesce(nullif(current_setting('role', true), 'none'), session_user))) as role
    ) as caller
    cross join (
        select to_regrole('errand_ops')::oid as role
        union all
        select relowner from pg_class where oid = 'errand.job'::regclass
    ) as allowed
$$;
