-- front_view: for errand_internal.front_script: returns the statements that make a view of the front by its rule, with
-- its comments and rights: a PL/Proxy function that reads it on all cells, one that reads one cell, and the view over
-- them.
--
-- A cell that can't be reached is left out with a warning, so that the others can be seen.
create or replace function errand_internal.front_view(view oid, rule text, detail text) returns setof text
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    name constant text := (select relname from pg_class where oid = view);
    -- As in errand_internal.front_function.
    kind constant text := 'language plproxy security definer set search_path = pg_catalog, pg_temp';
    columns text;
    shown text;
    names text;
begin
    select
        string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum),
        string_agg(quote_ident(attname), ', ' order by attnum),
        string_agg(
            case
                when attnum = 1 then quote_ident(attname)
                when attname = any (string_to_array(front_view.detail, ' ')) then format('min(%I) as %1$I', attname)
                when atttypid = 'bigint'::regtype then format('sum(%I)::bigint as %1$I', attname)
                when atttypid = 'boolean'::regtype then format('bool_or(%I) as %1$I', attname)
                else format('max(%I) as %1$I', attname)
            end, ', ' order by attnum)
    into columns, names, shown
    from pg_attribute
    where attrelid = view and attnum > 0 and not attisdropped;
    return next format(
        'create or replace function errand_front.%I() returns table (cell int, %s) %s as %L',
        name || '_on_all', columns, kind,
        format(
            E'cluster errand_front.cluster(); run on all;\nselect errand.cell(), shown.* from errand.%I as shown %s;',
            name, case when rule = 'union' then detail else '' end));
    return next format(
        'create or replace function errand_front.%I(partition int) returns table (cell int, %s) %s as %L',
        name || '_at', columns, kind,
        format(
            E'cluster errand_front.cluster(); run on partition;\n'
                || 'select errand.cell(), shown.* from errand.%I as shown %s;',
            name, case when rule = 'union' then detail else '' end));
    return next format(
        E'create or replace function errand_front.%I() returns table (cell int, %s)\n'
        'language plpgsql set search_path = pg_catalog, pg_temp as %L',
        name || '_rows', columns, format($body$
#variable_conflict use_column
declare
    existing record;
begin
    return query select * from errand_front.%1$I();
exception
    when connection_exception or external_routine_exception or internal_error then
        for existing in select partition, of_cell.cell from errand_front.cell as of_cell order by of_cell.cell loop
            begin
                return query select * from errand_front.%2$I(existing.partition);
            exception
                when connection_exception or external_routine_exception or internal_error then
                    raise warning 'cell %% can''t be reached, and its rows are missing', existing.cell;
            end;
        end loop;
end
$body$, name || '_on_all', name || '_at'));
    return next case rule
        when 'union' then format('create view errand.%I as select %s, cell from errand_front.%I()', name, names,
            name || '_rows')
        else format('create view errand.%I as select %s from errand_front.%I() group by 1', name, shown,
            name || '_rows')
    end;
    return next format('comment on view errand.%I is %L', name, obj_description(view, 'pg_class'));
    return query
    select format('comment on column errand.%I.%I is %L', name, attname, col_description(view, attnum))
    from pg_attribute
    where attrelid = view and attnum > 0 and not attisdropped;
    if rule = 'union' then
        return next format('comment on column errand.%I.cell is %L', name, 'the cell');
    end if;
    return next format('revoke execute on function errand_front.%I, errand_front.%I, errand_front.%I from public',
        name || '_on_all', name || '_at', name || '_rows');
    return query
    select statement
    from errand_internal.rights() as given
    cross join lateral (
        values
            (format('grant select on errand.%I to %I', name, given.role)),
            (format('grant execute on function errand_front.%I, errand_front.%I, errand_front.%I to %I',
                name || '_on_all', name || '_at', name || '_rows', given.role))
    ) as granted(statement)
    where given.object = 'errand.' || name and given.what = 'view' and given.role <> 'errand_worker';
end
$$;
