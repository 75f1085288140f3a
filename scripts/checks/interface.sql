-- What people and workers call and read, as rows of tab-separated fields in the order of the documents:
--
--   topic   name, about                             of errand.help
--   app     name, about
--   object  name, signature, roles, comment         of the topic or app before
--
-- A signature is the arguments of a function with their defaults, and its result; or the columns of a view.
--
-- Functions with a version in their name are for programs. Views call some of errand_internal with the rights of their
-- reader.
with declared as (
    select object, is_view, topics, array_to_string(array(select unnest(roles) order by 1), ', ') as roles
    from errand.declaration
    where roles && '{worker,enqueuer,ops,monitor}' and object !~ '_v[0-9]+$'
        and split_part(object, '.', 1) <> 'errand_internal'
),
section as (
    select 'topic' as what, topic as name, about, row_number() over () as index
    from errand_internal.help_topics()
    union all
    select 'app', name, obj_description(oid, 'pg_namespace'), 1000 + row_number() over (order by name)
    from errand.app
    join pg_namespace on nspname = name
),
described as (
    select
        declared.*, object || '()' as shown, obj_description(routine.oid, 'pg_proc') as comment,
        regexp_replace(
            replace(replace(replace(replace(replace(
                object || '(' || pg_get_function_arguments(routine.oid) || ') returns '
                    || regexp_replace(pg_get_function_result(routine.oid), '^TABLE|^SETOF ', ''),
                'timestamp with time zone', 'timestamptz'), 'timestamp without time zone', 'timestamp'),
                'integer', 'int'), ' DEFAULT ', ' = '), 'NULL', 'null'),
            '::[a-z0-9]+( precision)?(\[\])?', '', 'g') as signature
    from declared
    join pg_proc as routine
        on routine.pronamespace = split_part(object, '.', 1)::regnamespace and proname = split_part(object, '.', 2)
    where not is_view
    union all
    select
        declared.*, object, obj_description(object::regclass, 'pg_class'),
        object || ': ' || (
            select string_agg(attname, ', ' order by attnum)
            from pg_attribute
            where attrelid = object::regclass and attnum > 0 and not attisdropped)
    from declared
    where is_view
),
listed as (
    select section.index, described.*
    from section
    join described
        on what = 'topic' and name = any (topics)
        or what = 'app' and topics = '{}' and name = split_part(object, '.', 1)
),
rows as (
    select index, 0 as rank, '' as sort, concat_ws(E'\t', what, name, about) as row
    from section
    where exists (select from listed where listed.index = section.index)
    union all
    select
        index, 1 + is_view::int, signature,
        concat_ws(E'\t', 'object', shown, signature, roles, split_part(comment, ' Example: ', 1))
    from listed
)
select row from rows order by index, rank, sort collate "C";
