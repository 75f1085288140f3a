-- The functions that operators and applications call, one a line: arguments with their defaults, result, and roles.
--
-- Functions with a version in their name are for programs. Those excluded below are for views, which call them with the
-- rights of their reader.
with callable as (
    select
        routine.oid,
        nspname || '.' || proname as name,
        pg_get_function_arguments(routine.oid) as arguments,
        pg_get_function_result(routine.oid) as result,
        (
            select string_agg(substr(rolname, 8), ', ' order by rolname)
            from pg_roles
            where rolname in ('errand_enqueuer', 'errand_monitor', 'errand_ops', 'errand_worker')
                and has_function_privilege(rolname, routine.oid, 'execute')
        ) as roles
    from pg_proc as routine
    join pg_namespace on pg_namespace.oid = pronamespace
    where nspname in (select name from errand.app union select 'errand')
        and proname !~ '_v[0-9]+$'
        and nspname || '.' || proname not in (
            'errand.count_now', 'errand.error_id', 'errand.horizon', 'errand.retentions', 'errand.sees_content',
            'errand.stands_still', 'errand.standing_limits', 'errand.state_of')
),
plain as (
    select
        name, roles,
        replace(replace(replace(
            name || '(' || arguments || ') returns ' || regexp_replace(result, '^TABLE|^SETOF ', ''),
            'timestamp with time zone', 'timestamptz'), 'timestamp without time zone', 'timestamp'), 'integer', 'int')
            as text
    from callable
)
select
    regexp_replace(
        replace(replace(text, ' DEFAULT ', ' = '), 'NULL', 'null'), '::[a-z0-9]+( precision)?(\[\])?', '', 'g')
    || ' -- ' || roles
from plain
where roles is not null
order by name, text collate "C";
