-- help: a line for each call and view of a topic, with what it does: its comment. Without a topic, a line for each.
--
--   select * from errand.help();
--   select * from errand.help('retry');
--
-- The topics are those of errand_internal.help_topics and the installed apps. A function's name and other words, such
-- as kill, show the topics that have them. Arguments in brackets have a default. Shows only what the reader may call or
-- read. \df+ errand.retry has a function's types and an example. Raises ER404 for another topic.
-- errand: for worker, enqueuer, ops, monitor
-- errand: topic help
create or replace function errand.help(topic text default null) returns table (call text, does text)
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp set jit = off
as $$
#variable_conflict use_column
declare
    reader constant text := coalesce(nullif(current_setting('role', true), 'none'), session_user);
    spaces constant oid[] := errand_internal.namespaces();
    topic_names constant text[] := array(
        select page.topic from errand_internal.help_topics() as page
        union all
        (select name from errand.app order by name));
    wanted text[] := array[help.topic];
begin
    if help.topic <> all (topic_names) then
        wanted := array(
            select page.topic
            from errand_internal.help_topics() as page
            where help.topic = any (regexp_split_to_array(page.words, ' +')))
            || (select topics from errand.declaration where object = 'errand.' || help.topic);
    end if;
    if wanted = '{}' then
        perform errand_internal.check_known(
            'help: topic', 'one of ' || array_to_string(topic_names, ', '), help.topic, topic_names);
    end if;
    return query
    with object as (
        select
            pronamespace as space, proname as name, proname || '(' || coalesce((
                select string_agg(
                    case when index > pronargs - pronargdefaults then '[' || argument || ']' else argument end, ', '
                    order by index)
                from unnest(proargnames[1:pronargs]) with ordinality as argument(argument, index)), '') || ')' as text,
            obj_description(oid, 'pg_proc') as comment
        from pg_proc
        where pronamespace = any (spaces) and proname !~ E'_v\\d+$' and has_function_privilege(reader, oid, 'execute')
        union all
        select relnamespace, relname, relname, obj_description(oid, 'pg_class')
        from pg_class
        where relnamespace = any (spaces) and relkind in ('r', 'v') and has_any_column_privilege(reader, oid, 'select')
    ),
    listed as (
        select page.topic, page.about, 'errand'::regnamespace::oid as space, split_part(object, '.', 2) as name
        from errand_internal.help_topics() as page
        join errand.declaration on page.topic = any (topics)
        union all
        select app.name, obj_description(pg_namespace.oid, 'pg_namespace'), pg_namespace.oid, object.name
        from errand.app
        join pg_namespace on nspname = app.name
        join object on object.space = pg_namespace.oid
    ),
    shown as (
        select distinct
            listed.topic, listed.about, nspname || '.' || object.text as call,
            -- The example is for \df+.
            split_part(object.comment, ' Example: ', 1) as does
        from listed
        join object on object.space = listed.space and object.name = listed.name
        join pg_namespace on pg_namespace.oid = listed.space
    )
    select shown.call, shown.does
    from (
        select shown.call, shown.does, 0 as rank
        from shown
        where shown.topic = any (wanted)
        union all
        select
            format('select * from errand.help(%L)', shown.topic), min(shown.about),
            array_position(topic_names, shown.topic)
        from shown
        where help.topic is null
        group by shown.topic) as shown
    -- Functions, then views.
    order by shown.rank, shown.call not like '%(%', shown.call;
end
$$;
