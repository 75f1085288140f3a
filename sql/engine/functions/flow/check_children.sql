-- check_children: for maintenance: finds jobs that wait for others and were not told of their end.
--
-- A parent's end and a child's enqueue that commit side by side don't see each other. So each child is checked when it
-- is first seen, and again once all transactions have ended that wrote to errand.job then. A parent that is in no table
-- then counts as ended. 2,500 of all that wait are checked in each call, behind those of the last call (memory), so
-- that nothing waits for ever. Children of parents with more of them than one call releases come next.
--
-- Returns where the next call goes on, and whether there is more to do at once.
create or replace function errand_internal.check_children(
    memory text default null, out next_memory text, out is_more boolean
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant int := 1000;
    slice constant int := 2500;
    begun constant bigint := coalesce(pg_sequence_last_value('errand.flows_begun'), 0);
    checks bigint[];
    children bigint[];
    running xid8[];
    parent record;
    near bigint[];
    released record;
    was constant jsonb := coalesce(memory::jsonb, '["job:", 0, "-infinity", 0]');
    last jsonb;
begin
    next_memory := memory;
    is_more := false;
    if not errand_internal.begin_check() then
        return;
    end if;
    select array_agg(id), array_agg(child_id) into checks, children
    from (
        select id, child_id
        from errand.flow_check
        where child_id is not null and writers is null
        order by id
        limit most
        for update skip locked) as fresh;
    if checks is not null then
        is_more := cardinality(checks) = most;
        running := errand_internal.writers_of('errand.job');
        if running = '{}' then
            delete from errand.flow_check where id = any (checks);
        else
            update errand.flow_check set writers = running where id = any (checks);
        end if;
        perform errand_internal.parents_ended(released.cancelled)
        from errand_internal.release_children(
            errand_internal.due_children(children, running = '{}'), running = '{}') as released;
    end if;
    select array_agg(id), array_agg(child_id) into checks, children
    from (
        select id, child_id
        from (select * from errand.flow_check where writers is not null order by id limit most) as near
        where not exists (
            select from unnest(near.writers) as writer where not pg_visible_in_snapshot(writer, pg_current_snapshot()))
    ) as checked;
    if checks is not null then
        is_more := is_more or cardinality(checks) = most;
        delete from errand.flow_check
        where id in (select id from errand.flow_check where id = any (checks) for update skip locked);
        perform errand_internal.parents_ended(released.cancelled)
        from errand_internal.release_children(errand_internal.due_children(children, true), true) as released;
    end if;
    for parent in
        select near.id, near.parent_id, states.state
        from (
            select id, parent_id
            from errand.flow_check
            where parent_id is not null
            order by id
            limit 100
            for update skip locked) as near
        cross join lateral errand_internal.parent_states(array[near.parent_id]) as states
        order by near.id
    loop
        near := array(
            select id
            from errand.job
            where parked_for = 'job:' || parent.parent_id
                and (parent.state = 'succeeded' or options ->> 'if_parent_fails' <> 'wait')
                and parent.state in ('succeeded', 'failed', 'cancelled', 'obsolete')
            order by priority, run_at, id
            limit most);
        select * into released from errand_internal.release_children(near);
        perform errand_internal.parents_ended(released.cancelled);
        if cardinality(near) = most and released.changed > 0 then
            is_more := true;
            exit;
        end if;
        delete from errand.flow_check where id = parent.id;
    end loop;
    select array_agg(id), (array_agg(jsonb_build_array(parked_for, priority, run_at, id) order by nth desc))[1]
    into children, last
    from (
        select id, parked_for, priority, run_at, row_number() over () as nth
        from (
            select *
            from errand.job
            where parked_for > 'job:' and parked_for < 'job:A'
                and (parked_for, priority, run_at, id)
                    > (was ->> 0, (was ->> 1)::smallint, (was ->> 2)::timestamptz, (was ->> 3)::bigint)
            order by parked_for, priority, run_at, id
            limit slice) as ahead) as numbered;
    next_memory := case when cardinality(children) = slice then last end;
    if children is not null then
        perform errand_internal.parents_ended(released.cancelled)
        from errand_internal.release_children(errand_internal.due_children(children, false)) as released;
    elsif memory is null then
        perform errand_internal.stop_flows(begun);
    end if;
end
$$;
