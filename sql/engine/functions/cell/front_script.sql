-- front_script: returns the statements that make the front's schema `errand`, from this cell's catalog: the functions
-- and views that applications, operators and monitors use, with their arguments, comments and rights.
--
-- `errand cells front` runs them in the front's database, in one transaction. Raises ER404 with the names of objects
-- of which errand_internal.front_rules says nothing, so that none is forgotten.
-- errand: after front_function, front_rules, front_view
create or replace function errand_internal.front_script() returns setof text
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    unknown text;
begin
    select string_agg('errand.' || object, ', ' order by object) into unknown
    from errand_internal.front_rules()
    where rule is null;
    if unknown is not null then
        raise exception 'front_script: expected a rule for each public function and view, got none for %', unknown
            using errcode = 'ER404', hint = 'Add it to errand_internal.front_rules.';
    end if;
    -- As here, where names were made into text.
    return next 'set local search_path = pg_catalog, errand, pg_temp';
    return next 'select errand_front.clear()';
    return query
    select statement
    from errand_internal.front_rules() as existing
    join pg_proc as routine on routine.pronamespace = 'errand'::regnamespace and routine.proname = existing.object
    cross join lateral errand_internal.front_function(routine.oid, existing.rule, existing.detail) as statement;
    return query
    select statement
    from errand_internal.front_rules() as existing
    join pg_class as class on class.relnamespace = 'errand'::regnamespace and class.relname = existing.object
    cross join lateral errand_internal.front_view(class.oid, existing.rule, existing.detail) as statement
    where existing.rule in ('union', 'merge');
end
$$;
