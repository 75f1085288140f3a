-- front_function: for errand_internal.front_script: returns the statements that make a function of the front by its
-- rule: PL/Proxy functions in errand_front, and the function itself, with its comment and rights.
create or replace function errand_internal.front_function(routine oid, rule text, detail text) returns setof text
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    name constant text := (select proname from pg_proc where oid = routine);
    is_set constant boolean := (select proretset from pg_proc where oid = routine);
    result constant text := pg_get_function_result(routine);
    -- Of a function that returns rows, or one of several columns.
    returned constant text[] := array(
        select format('%I %s', argument, format_type(types.type, null))
        from pg_proc
        cross join lateral unnest(proargnames, proargmodes, proallargtypes) with ordinality
            as types(argument, mode, type, index)
        where oid = routine and mode in ('t', 'o')
        order by types.index);
    identity constant text := format('errand.%I(%s)', name, oidvectortypes(
        (select proargtypes from pg_proc where oid = routine)));
    -- A remote result is read as rows. Nothing (void) is read as text.
    type constant text := case when result = 'void' then 'text' else regexp_replace(result, '^SETOF ', '') end;
    columns constant text := case
        when returned <> '{}' then array_to_string(returned, ', ') else 'value ' || type end;
    -- The arguments with their names and types, and as parameters from the first or the second number on.
    given constant text[] := array(
        select format('%I %s', argument, format_type(types.type, null))
        from pg_proc
        cross join lateral unnest(proargnames[1:pronargs], proargtypes::oid[]) with ordinality
            as types(argument, type, index)
        where oid = routine
        order by types.index);
    first constant text := coalesce((select string_agg('$' || i, ', ' order by i)
        from generate_series(1, cardinality(given)) as i), '');
    second constant text := coalesce((select string_agg('$' || i + 1, ', ' order by i)
        from generate_series(1, cardinality(given)) as i), '');
    remote text := case
        when returned <> '{}' then 'select called.* from errand.%I(%s) as called'
        else 'select (errand.%I(%s))::' || type || ' as value'
    end;
    -- With the rights of the front's owner: no role may use the servers of the cells.
    kind constant text := 'language plproxy security definer set search_path = pg_catalog, pg_temp';
    body text;
    helper text;
begin
    if rule = 'own' then
        return;
    elsif rule = 'copy' then
        return next pg_get_functiondef(routine);
    elsif rule = 'ids' then
        helper := format('%I(%s)', name || '_split', array_to_string(array['partitions int[]'] || given, ', '));
        return next format(
            'create or replace function errand_front.%s returns %s %s as %L', helper, 'table (' || columns || ')', kind,
            format(E'cluster errand_front.cluster(); split partitions, %I; run on partitions;\n%s;',
                split_part(given[1], ' ', 1), format(remote, name, second)));
        body := format(
            'select * from errand_front.%I(errand_front.partitions_of_ids($1), %s)', name || '_split', first);
    elsif rule = 'all' then
        helper := format('%I(%s)', name || '_on_all', array_to_string(given, ', '));
        return next format(
            'create or replace function errand_front.%s returns table (cell int, %s) %s as %L', helper, columns, kind,
            format(E'cluster errand_front.cluster(); run on all;\n%s;',
                regexp_replace(format(remote, name, first), '^select', 'select errand.cell(),')));
        body := format('select %s from errand_front.%I(%s) as of_cell',
            case detail
                when 'nothing' then 'null::void'
                when 'rows' then (
                    select string_agg('of_cell.' || quote_ident(argument), ', ' order by index)
                    from pg_proc
                    cross join lateral unnest(proargnames, proargmodes) with ordinality as out(argument, mode, index)
                    where oid = routine and mode in ('t', 'o'))
                else detail
            end,
            name || '_on_all', first) || case when detail = 'nothing' then ' limit 1' else '' end;
    else
        helper := format('%I(%s)', name || '_at', array_to_string(array['partition int'] || given, ', '));
        return next format(
            'create or replace function errand_front.%s returns %s%s %s as %L', helper,
            case when is_set and returned = '{}' then 'setof ' else '' end,
            case when returned <> '{}' then 'table (' || columns || ')' else type end, kind,
            format(E'cluster errand_front.cluster(); run on partition;\n%s;', format(remote, name, second)));
        body := format('select %s errand_front.%I(%s)',
            case when result = 'void' then 'null::void from' else '* from' end, name || '_at',
            concat_ws(', ', case rule
                when 'key' then (
                    select format('errand_front.route(%s)', string_agg(coalesce('$' || array_position(
                        proargnames[1:pronargs], wanted), 'null'), ', ' order by index))
                    from pg_proc
                    cross join lateral unnest('{unique_key,limit_key,tags,after,rate_key,order_key,batch}'::text[])
                        with ordinality
                        as needed(wanted, index)
                    where oid = routine)
                when 'any' then 'errand_front.route(null, null, null)'
                when 'many' then '$1'
                when 'id' then '(errand_front.partitions_of_ids(array[$1]))[1]'
                -- What is no token goes to any cell, which refuses it.
                when 'token' then '(errand_front.partitions_of_ids(array[coalesce(substring($1 from '
                    '''^([0-9]{1,15})[.]'')::bigint, 0)]))[1]'
                when 'schedule' then 'errand_front.partition_of_schedule($1)'
                when 'cell' then 'errand_front.chosen_partition()'
            end, nullif(first, '')));
        if rule = 'many' then
            body := 'select * from errand_front.enqueue_parts($1)';
        end if;
    end if;
    if rule <> 'copy' then
        return next format(
            E'create or replace function errand.%I(%s) returns %s\nlanguage sql set search_path = pg_catalog, pg_temp\n'
            'as %L',
            name, pg_get_function_arguments(routine), result, body);
        return next format('revoke execute on function errand_front.%I from public', split_part(helper, '(', 1));
    end if;
    return next format('comment on function %s is %L', identity, obj_description(routine, 'pg_proc'));
    return next format('revoke execute on function %s from public', identity);
    return query
    select format('grant execute on function %s to %I', target, given.role)
    from errand_internal.rights() as given
    cross join lateral unnest(array[identity, 'errand_front.' || quote_ident(split_part(helper, '(', 1))]) as target
    where given.object = 'errand.' || name and given.what = 'function' and target is not null;
end
$$;
