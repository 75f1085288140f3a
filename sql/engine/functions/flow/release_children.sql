-- release_children: decides about jobs that wait for others, by the states of all of their parents. Returns how many it
-- changed, and the ids of those that it cancelled, whose own children the caller tells (errand_internal.parents_ended).
--
-- A job whose parents have all succeeded becomes available, or scheduled if its time has not come. One with an
-- unfinished parent waits for the newest of them. A parent that failed, was cancelled or became obsolete is dealt with
-- as if_parent_fails asks: the job waits until it is retried, goes on as if it had succeeded, or is cancelled. A parent
-- that is in no table may belong to a transaction that isn't seen: it counts as ended only with missing_is_ended.
--
-- Waits for no lock: what another session has locked is checked again (errand.flow_check). So is what waits for a
-- parent from now on, which may end in this moment, and what is left once 10,000 parents were read.
create or replace function errand_internal.release_children(
    ids bigint[], missing_is_ended boolean default false, out changed int, out cancelled bigint[]
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant int := 10000;
    waiting bigint[];
    locked bigint[];
    ready bigint[];
    moved bigint[];
    watched bigint[];
    doomed bigint[];
    causes bigint[];
    limited text[];
    cause record;
begin
    changed := 0;
    cancelled := '{}';
    waiting := array(
        select asked.id
        from unnest(release_children.ids) as asked(id)
        -- By its id: a join might read all that is parked.
        cross join lateral (select parked_for from errand.job where job.id = asked.id offset 0) as near
        where starts_with(near.parked_for, 'job:'));
    if waiting = '{}' then
        return;
    end if;
    locked := array(select id from errand.job where id = any (waiting) order by id for update skip locked);
    with child as materialized (
        select *
        from (
            select
                near.id, near.parked_for, near.options ->> 'if_parent_fails' as policy,
                near.options -> 'after' as parents,
                sum(jsonb_array_length(near.options -> 'after')) over (order by near.id) as read_before
            from unnest(locked) as asked(id)
            cross join lateral (
                select id, parked_for, options from errand.job where job.id = asked.id offset 0
            ) as near
            where starts_with(near.parked_for, 'job:')) as one
        where one.read_before <= most
    ),
    edge as materialized (
        select child.id, parent::bigint as parent
        from child
        cross join lateral jsonb_array_elements_text(child.parents) as parent
    ),
    known as materialized (
        select id as parent, state
        from errand_internal.parent_states(array(select distinct parent from edge))
    ),
    found as (
        select
            id,
            max(parent) filter (where state in ('scheduled', 'available', 'parked', 'running')) as unfinished,
            max(parent) filter (where state is null) as missing,
            max(parent) filter (where state in ('failed', 'cancelled', 'obsolete')) as failed
        from edge
        join known using (parent)
        group by id
    ),
    decided as (
        select
            child.id, child.parked_for, case when child.policy = 'cancel' then found.failed end as cause,
            coalesce(
                found.unfinished, case when not missing_is_ended then found.missing end,
                case when child.policy = 'wait' then found.failed end) as watched
        from child
        join found using (id)
    )
    select
        array_agg(id) filter (where cause is null and watched is null),
        array_agg(id) filter (where cause is null and parked_for <> 'job:' || watched),
        array_agg(watched) filter (where cause is null and parked_for <> 'job:' || watched),
        array_agg(id) filter (where cause is not null), array_agg(cause) filter (where cause is not null),
        array(select * from unnest(waiting) except select id from child)
    into ready, moved, watched, doomed, causes, waiting
    from decided;
    insert into errand.flow_check (child_id) select * from unnest(waiting || moved);
    if moved is not null then
        update errand.job set parked_for = 'job:' || watched[array_position(moved, id)] where id = any (moved);
    end if;
    if ready is not null then
        -- The transaction id comes before the position: see errand_internal.requeue.
        perform pg_current_xact_id();
        update errand.job
        set state = case when run_at > now() then 'scheduled' else 'available' end, parked_for = null,
            -- It could not start before: otherwise it would count as late.
            run_at = greatest(run_at, now())
        where id = any (ready);
        limited := array(
            select distinct limit_key
            from errand.job
            where id = any (ready) and state = 'available' and limit_key is not null
                -- One with an order key has its slot first.
                and (options ? 'order_key') is not true);
        if limited <> '{}' then
            perform errand_internal.park_beyond_limits(ready, limited);
        end if;
        perform errand_internal.wake();
    end if;
    for cause in
        select parent, array_agg(id) as children
        from unnest(doomed, causes) as one(id, parent)
        group by parent
        order by parent
    loop
        cancelled := cancelled || (
            select done.ids
            from errand_internal.cancel_jobs(
                cause.children, 'parked', format('job %s, which it waited for, has ended as %s', cause.parent,
                errand_internal.state_of(cause.parent))) as done);
    end loop;
    changed := coalesce(cardinality(ready), 0) + coalesce(cardinality(moved), 0) + cardinality(cancelled);
end
$$;
