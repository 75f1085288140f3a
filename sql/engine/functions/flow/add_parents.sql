-- add_parents: for errand.enqueue_many: makes the enqueued jobs wait whose elements have after, a list of ids, or
-- after_elements, the numbers of elements before it. job_ids has the job of each element, and inserted whether it is
-- new. Returns the states of all of them.
--
-- A job waits for older ones only, so no two can wait for each other. A job that was there and isn't replaced stays as
-- it is. Raises ER422, ER404 and ER409 with the element's number.
create or replace function errand_internal.add_parents(jobs jsonb, job_ids bigint[], inserted boolean[])
returns text[]
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    element record;
    asked record;
    context text;
    flow jsonb;
    wrong int;
    problem text;
    children bigint[] := '{}';
    flows jsonb[] := '{}';
    named bigint[];
begin
    for element in
        select item.value, item.ordinality::int as index
        from jsonb_array_elements(jobs) with ordinality as item
        where item.value ?| '{after,after_elements,if_parent_fails}'
        order by item.ordinality
    loop
        context := format('enqueue_many: jobs[%s]', element.index);
        begin
            select * into asked
            from jsonb_to_record(element.value) as job(
                after bigint[], after_elements int[], if_parent_fails text, on_conflict text);
        exception
            when data_exception then
                perform errand_internal.refuse_element(jobs);
                raise;
        end;
        select min(coalesce(number, 0)) into wrong
        from unnest(asked.after_elements) as number
        where (number between 1 and element.index - 1) is not true;
        if wrong is not null then
            raise exception '%: after_elements: expected numbers of elements before it, got %', context, wrong
                using errcode = 'ER422', hint = 'They count from 1. A job comes behind those that it waits for.';
        end if;
        named := named || asked.after;
        flow := errand_internal.check_parents(
            context, asked.after || array(select job_ids[number] from unnest(asked.after_elements) as number),
            coalesce(asked.if_parent_fails, 'wait'), are_known => true);
        continue when flow is null
            or not inserted[element.index] and (asked.on_conflict in ('replace', 'supersede')) is not true;
        if (flow #>> '{after,-1}')::bigint >= job_ids[element.index] and problem is null then
            problem := format(
                '%s: after: expected jobs that are older than job %s, got job %s', context, job_ids[element.index],
                flow #>> '{after,-1}');
        end if;
        children := children || job_ids[element.index];
        flows := flows || flow;
    end loop;
    perform errand_internal.check_known_parents('enqueue_many', array(select distinct id from unnest(named) as id));
    if problem is not null then
        raise exception '%', problem
            using errcode = 'ER409', hint = 'The job with its unique key was there before.';
    end if;
    update errand.job
    set options = coalesce(options, '{}') || given.flow
    from unnest(children, flows) as given(id, flow)
    where job.id = given.id and state <> 'running';
    perform errand_internal.begin_wait(array(
        select job.id
        from unnest(children) as given(id)
        cross join lateral (select id, state from errand.job where job.id = given.id offset 0) as job
        where job.state <> 'running'));
    return array(
        select state.state
        from unnest(job_ids) with ordinality as given(id, index)
        left join errand_internal.parent_states(array(select distinct id from unnest(job_ids) as id)) as state
            on state.id = given.id
        order by given.index);
end
$$;
