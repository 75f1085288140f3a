-- ranked_queues: for errand.metrics: returns all queues by the last statistics, and whether a queue is beyond the first
-- `shown` (is_folded). First come queues with workers, then paused ones, then the largest.
--
-- The planner can't know how many queues there are, and would join them by nested loops.
create or replace function errand.ranked_queues(shown int) returns table (
    queue text, is_folded boolean, workers bigint, paused_at timestamptz, waiting bigint, running bigint,
    scheduled bigint, parked bigint, failed bigint, oldest_due_at timestamptz
)
language sql stable set search_path = pg_catalog, errand, pg_temp set jit = off set enable_nestloop = off as $$
    with served as (
        select queue, count(*) as workers
        from errand.worker
        cross join unnest(queues) as queue
        where heartbeat_at + lease > now() and drained_at is null
        group by queue
    ),
    counted as (
        select
            queue, sum(jobs) as jobs, sum(jobs) filter (where state = 'available') as waiting,
            sum(jobs) filter (where state = 'running') as running,
            sum(jobs) filter (where state = 'scheduled') as scheduled,
            sum(jobs) filter (where state = 'parked') as parked, sum(jobs) filter (where state = 'failed') as failed,
            min(oldest_due_at) as oldest_due_at
        from errand.job_count
        group by queue
    )
    select
        named.queue,
        row_number() over (
            order by served.workers is not null desc, held.paused_at is not null desc, coalesce(counted.jobs, 0) desc,
                named.queue) > shown,
        coalesce(served.workers, 0), held.paused_at, coalesce(counted.waiting, 0)::bigint,
        coalesce(counted.running, 0)::bigint, coalesce(counted.scheduled, 0)::bigint,
        coalesce(counted.parked, 0)::bigint, coalesce(counted.failed, 0)::bigint, counted.oldest_due_at
    from errand.queue_names() as named(queue)
    left join served on served.queue = named.queue
    left join counted on counted.queue = named.queue
    left join errand.queue as held on held.name = named.queue and held.paused_at is not null
$$;
comment on function errand.ranked_queues(int) is
    'For errand.metrics: returns all queues by the last statistics, and which are beyond the first ones';
