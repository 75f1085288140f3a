-- What operators and applications call and read, as rows of tab-separated fields in the order of docs/sql.md:
--
--   topic      name, about                          of errand.help, then the apps
--   object     call or view, roles, comment         of the topic before
--   signature  arguments with their defaults, result, roles
--
-- Functions with a version in their name are for programs. Views call some of errand_internal with the rights of their
-- reader.
with declared as (
    select object, is_view, topics, array_to_string(array(select unnest(roles) order by 1), ', ') as roles
    from errand.declaration
    where roles && '{enqueuer,ops,monitor}' and object !~ '_v[0-9]+$'
        and split_part(object, '.', 1) <> 'errand_internal'
),
topic as (
    select topic as name, about, row_number() over () as index
    from errand_internal.help_topics()
    union all
    select name, obj_description(oid, 'pg_namespace'), 1000 + row_number() over (order by name)
    from errand.app
    join pg_namespace on nspname = name
),
callable as (
    select
        routine.oid, declared.*, proname,
        declared.object || '(' || coalesce((
            select string_agg(
                case when index > pronargs - pronargdefaults then '[' || argument || ']' else argument end, ', '
                order by index)
            from unnest(proargnames[1:pronargs]) with ordinality as argument(argument, index)), '') || ')' as call,
        obj_description(routine.oid, 'pg_proc') as comment
    from declared
    join pg_proc as routine
        on routine.pronamespace = split_part(object, '.', 1)::regnamespace and proname = split_part(object, '.', 2)
    where not is_view
    union all
    select null, declared.*, null, declared.object, obj_description(declared.object::regclass, 'pg_class')
    from declared
    where is_view
),
listed as (
    select topic.index, topic.name, callable.*
    from topic
    join callable
        on topic.name = any (topics) or topics = '{}' and split_part(object, '.', 1) = topic.name
),
rows as (
    select index, 0 as rank, '' as sort, concat_ws(E'\t', 'topic', name, about) as row
    from topic
    where exists (select from listed where listed.index = topic.index)
    union all
    select index, 1 + is_view::int, call, concat_ws(E'\t', 'object', call, roles, split_part(comment, ' Example: ', 1))
    from listed
    union all
    select 10000, 0, object || text, concat_ws(E'\t', 'signature', text || ' -- ' || roles)
    from (
        select
            object, roles,
            regexp_replace(
                replace(replace(replace(replace(replace(
                    object || '(' || pg_get_function_arguments(oid) || ') returns '
                        || regexp_replace(pg_get_function_result(oid), '^TABLE|^SETOF ', ''),
                    'timestamp with time zone', 'timestamptz'), 'timestamp without time zone', 'timestamp'),
                    'integer', 'int'), ' DEFAULT ', ' = '), 'NULL', 'null'),
                '::[a-z0-9]+( precision)?(\[\])?', '', 'g') as text
        from callable
        where not is_view) as plain
)
select row from rows order by index, rank, sort collate "C";
