-- count_now: for the views: returns how many unfinished jobs there are now, by queue, kind and state, within a bound.
--
-- One statement counts all queues: up to 5,000 jobs that wait or run, shared by the queues and priorities that have
-- any. Each has 3 to 250 of them. is_whole says whether a row has all jobs of its queue and state; otherwise there are
-- at least so many. Scheduled and parked jobs are counted if there are fewer than 1,000 of them. A last row of each
-- state, without a queue, says whether queues without a row have no such jobs.
--
-- Reads the first 1,500 pairs of queue and priority by name, and then those of 250 queues with workers. So made-up
-- names don't hide the queues that workers serve. oldest_due_at ignores kinds that no live worker of the queue has, if
-- it has one.
--
-- The settings make each read one of an index: the planner can't know how many queues there are, or that a table that
-- it has found small has grown.
-- errand: for ops, monitor
create or replace function errand_internal.count_now() returns table (
    queue text, kind text, state text, jobs bigint, oldest_due_at timestamptz, is_whole boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off
as $$
#variable_conflict use_column
begin
    return query
    with recursive read as (
        (
            select job.queue, job.priority, 1 as nth
            from errand.job
            where job.queue_position is not null
            order by job.queue, job.priority
            limit 1
        )
        union all
        select next.queue, next.priority, nth + 1
        from read
        cross join lateral (
            select job.queue, job.priority
            from errand.job
            where job.queue_position is not null and (job.queue, job.priority) > (read.queue, read.priority)
            order by job.queue, job.priority
            limit 1
        ) as next
        where nth < 1500
    ),
    -- Workers with the same queues and kinds count as one, which is cheaper to compare.
    served as materialized (
        select queue, kinds
        from (
            select distinct queues, kinds from errand.worker where heartbeat_at + lease > now() and drained_at is null
        ) as alike
        cross join unnest(queues) as queue
    ),
    -- A last queue that is not whole may have further priorities.
    extent as materialized (
        select count(*) < 1500 as is_whole, max(queue) as last from read
    ),
    beyond as materialized (
        select distinct queue
        from served
        join extent on not extent.is_whole and served.queue > extent.last
        order by queue
        limit 250
    ),
    pair as materialized (
        select queue, priority from read
        union all
        select queue, priority from beyond cross join unnest('{1,2,3,4}'::smallint[]) as priority
    ),
    bound as materialized (
        select least(250, greatest(3, 5000 / greatest(count(*), 1))) as jobs from pair
    ),
    near as materialized (
        select pair.queue, pair.priority, first.state, first.kind, first.run_at
        from pair
        cross join lateral (
            select job.state, job.kind, job.run_at
            from errand.job
            where job.queue = pair.queue and job.priority = pair.priority and job.queue_position is not null
            order by job.queue_position
            limit (select bound.jobs from bound)
        ) as first
    ),
    servable as materialized (
        select met.queue, met.kind
        from (select distinct queue, kind from near) as met
        left join served on served.queue = met.queue
        where served.queue is null or met.kind = any (served.kinds)
        group by met.queue, met.kind
    ),
    level as materialized (
        select
            near.queue, near.priority, count(*) < (select bound.jobs from bound) as is_whole,
            bool_or(servable.kind is not null and near.state = 'available' and isfinite(near.run_at)) as is_servable
        from near
        left join servable on servable.queue = near.queue and servable.kind = near.kind
        group by near.queue, near.priority
    ),
    -- Where all of these are of kinds without a worker: the first job of another kind behind them.
    behind as materialized (
        select blocked.queue, job.kind, job.run_at
        from (select queue, priority, count(*) over () as levels from level where not is_whole and not is_servable)
            as blocked
        cross join lateral (
            select further.kind, further.run_at
            from (
                select job.state, job.kind, job.run_at
                from errand.job
                where job.queue = blocked.queue and job.priority = blocked.priority and job.queue_position is not null
                order by job.queue_position
                offset (select bound.jobs from bound)
                limit 10000 / blocked.levels
            ) as further
            where further.state = 'available' and isfinite(further.run_at)
                and exists (
                    select from served where served.queue = blocked.queue and further.kind = any (served.kinds))
            limit 1
        ) as job
    ),
    later as materialized (
        select job.queue, job.kind
        from errand.job
        where job.queue_position is null and job.parked_for is null
        order by job.run_at
        limit 1000
    ),
    held_back as materialized (
        select job.queue, job.kind from errand.job where job.parked_for is not null order by job.parked_for limit 1000
    ),
    of_queue as materialized (
        select queue, bool_and(level.is_whole and (extent.is_whole or queue <> extent.last)) as is_whole
        from level
        cross join extent
        group by queue
    ),
    rest as materialized (
        select
            is_whole as active, (select count(*) from later) < 1000 as scheduled,
            (select count(*) from held_back) < 1000 as parked
        from extent
    )
    select
        near.queue, near.kind, near.state, count(*),
        min(near.run_at) filter (
            where near.state = 'available' and isfinite(near.run_at) and servable.kind is not null),
        bool_and(of_queue.is_whole)
    from near
    join of_queue on of_queue.queue = near.queue
    left join servable on servable.queue = near.queue and servable.kind = near.kind
    group by near.queue, near.kind, near.state
    union all
    select queue, kind, 'available', 0, min(run_at), false from behind group by queue, kind
    union all
    select queue, kind, 'scheduled', count(*), null, (select scheduled from rest) from later group by queue, kind
    union all
    select queue, kind, 'parked', count(*), null, (select parked from rest) from held_back group by queue, kind
    union all
    select null, null, missing.state, 0, null, missing.is_whole
    from rest
    cross join lateral (
        values ('available', active), ('running', active), ('scheduled', scheduled), ('parked', parked)
    ) as missing(state, is_whole);
end
$$;
