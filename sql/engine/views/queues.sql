-- queues: one row for each queue: its depth, throughput and pause.
--
-- The cost has a bound for any number of queues and jobs: errand_internal.count_now. waiting and running are exact if
-- all jobs of the queue were counted now. Otherwise is_estimate is true, and they are from the last statistics
-- (errand_internal.update_statistics), of counted_at. If these know of fewer jobs than are there now, is_floor is
-- true too: there are at least so many. Failed jobs, rates and times are from the last statistics.
--
-- A job whose kind no live worker of its queue has does not make the queue late: errand.overdue shows the kind. The
-- smallest of more than 10,000 pairs of queue and kind are counted under the name *: errand_internal.count_jobs.
-- errand: for ops, monitor
-- errand: topic rates, pause
create or replace view errand.queues as
with now_by_queue as materialized (
    select
        queue,
        coalesce(sum(jobs) filter (where state = 'available'), 0) as waiting,
        coalesce(sum(jobs) filter (where state = 'running'), 0) as running,
        coalesce(sum(jobs) filter (where state = 'scheduled'), 0) as scheduled,
        coalesce(sum(jobs) filter (where state = 'parked'), 0) as parked,
        bool_and(is_whole) filter (where state in ('available', 'running')) as is_whole,
        bool_and(is_whole) filter (where state = 'scheduled') as is_whole_scheduled,
        bool_and(is_whole) filter (where state = 'parked') as is_whole_parked,
        min(oldest_due_at) as oldest_due_at
    from errand_internal.count_now()
    group by queue
),
counted as (
    select
        queue,
        coalesce(sum(jobs) filter (where state = 'available'), 0) as waiting,
        coalesce(sum(jobs) filter (where state = 'running'), 0) as running,
        coalesce(sum(jobs) filter (where state = 'scheduled'), 0) as scheduled,
        coalesce(sum(jobs) filter (where state = 'parked'), 0) as parked,
        coalesce(sum(jobs) filter (where state = 'failed'), 0) as failed,
        min(oldest_due_at) as oldest_due_at
    from errand.job_count
    group by queue
),
served as (
    select queue, sum(alike.workers) as workers
    from (
        select queues, count(*) as workers
        from errand.worker
        where heartbeat_at + lease > now() and drained_at is null
        group by queues
    ) as alike
    cross join unnest(alike.queues) as queue
    group by queue
),
named as (
    select queue from now_by_queue where queue is not null
    union
    select queue from errand.job_count
    union
    select name from errand.throughput where subject = 'queue'
    union
    select queue from errand.kind
    union
    select name from errand.queue
),
depth as (
    select
        named.queue,
        coalesce(fresh.waiting, 0) as waiting,
        coalesce(fresh.running, 0) as running,
        coalesce(fresh.is_whole, beyond.is_whole) as is_whole,
        case
            when coalesce(fresh.is_whole_scheduled, beyond.is_whole_scheduled) then coalesce(fresh.scheduled, 0)
            else greatest(counted.scheduled, fresh.scheduled, 0)
        end::bigint as scheduled,
        case
            when coalesce(fresh.is_whole_parked, beyond.is_whole_parked) then coalesce(fresh.parked, 0)
            else greatest(counted.parked, fresh.parked, 0)
        end::bigint as parked,
        counted.waiting as counted_waiting,
        counted.running as counted_running,
        coalesce(counted.failed, 0)::bigint as failed,
        case
            when fresh.is_whole is null and not beyond.is_whole then counted.oldest_due_at else fresh.oldest_due_at
        end as oldest_due_at
    from named
    -- The row without a queue is of queues that have no rows.
    cross join (select * from now_by_queue where queue is null) as beyond
    left join now_by_queue as fresh on fresh.queue = named.queue
    left join counted on counted.queue = named.queue
)
select
    depth.queue,
    case when depth.is_whole then depth.waiting else greatest(depth.counted_waiting, depth.waiting) end::bigint
        as waiting,
    case when depth.is_whole then depth.running else greatest(depth.counted_running, depth.running) end::bigint
        as running,
    depth.scheduled,
    depth.parked,
    depth.failed,
    not depth.is_whole as is_estimate,
    not depth.is_whole
        and coalesce(depth.counted_waiting + depth.counted_running, -1) < depth.waiting + depth.running as is_floor,
    depth.oldest_due_at,
    greatest(now() - depth.oldest_due_at, interval '0') as oldest_age,
    coalesce(served.workers, 0)::bigint as workers,
    coalesce(minutes.succeeded, 0) as succeeded_5_min,
    coalesce(minutes.failed, 0) as failed_5_min,
    coalesce(minutes.retried, 0) as retried_5_min,
    coalesce(hour.succeeded, 0) as succeeded_1_h,
    coalesce(hour.failed, 0) as failed_1_h,
    coalesce(hour.retried, 0) as retried_1_h,
    minutes.wait_p50_ms as wait_p50_ms_5_min,
    minutes.wait_p95_ms as wait_p95_ms_5_min,
    minutes.run_p50_ms as run_p50_ms_5_min,
    minutes.run_p95_ms as run_p95_ms_5_min,
    hour.wait_p50_ms as wait_p50_ms_1_h,
    hour.wait_p95_ms as wait_p95_ms_1_h,
    hour.wait_p99_ms as wait_p99_ms_1_h,
    hour.run_p50_ms as run_p50_ms_1_h,
    hour.run_p95_ms as run_p95_ms_1_h,
    hour.run_p99_ms as run_p99_ms_1_h,
    queue.paused_at,
    queue.paused_until,
    queue.paused_by,
    queue.paused_reason,
    (select done_at from errand.maintenance_task where name = 'statistics') as counted_at,
    case
        when now() - depth.oldest_due_at > interval '1 minute' and queue.paused_at is null and served.workers > 0
            then errand_internal.stands_still(depth.queue)
        else false
    end as stands_still
from depth
left join served on served.queue = depth.queue
left join errand.queue on queue.name = depth.queue and queue.paused_at is not null
left join errand.throughput as minutes
    on minutes.subject = 'queue' and minutes.name = depth.queue and minutes.span = interval '5 minutes'
left join errand.throughput as hour
    on hour.subject = 'queue' and hour.name = depth.queue and hour.span = interval '1 hour';
comment on view errand.queues is
    'One row for each queue: depth by state, oldest due job, rates, times, pause. Takes milliseconds for any length of '
    'queue';
comment on column errand.queues.queue is 'the queue''s name';
comment on column errand.queues.waiting is 'available jobs';
comment on column errand.queues.running is 'running jobs';
comment on column errand.queues.scheduled is 'scheduled jobs';
comment on column errand.queues.parked is
    'parked jobs: they wait for a limit, a circuit, a signal, other jobs, or after two crashes of their worker';
comment on column errand.queues.failed is 'failed jobs that were neither retried nor discarded';
comment on column errand.queues.is_estimate is
    'whether waiting and running are not exact: they are from the last statistics, or a floor';
comment on column errand.queues.is_floor is
    'whether there are at least so many waiting and running jobs: the last statistics know of fewer';
comment on column errand.queues.oldest_due_at is
    'since when the oldest waiting job is due, among kinds that a live worker of the queue has; all kinds if it has no '
    'worker';
comment on column errand.queues.oldest_age is 'how long that is';
comment on column errand.queues.workers is 'live workers that claim from it, without drained ones';
comment on column errand.queues.succeeded_5_min is 'jobs that succeeded within the last 5 minutes';
comment on column errand.queues.failed_5_min is 'jobs that failed for good within the last 5 minutes';
comment on column errand.queues.retried_5_min is
    'attempts that failed and are retried, within the last 5 minutes';
comment on column errand.queues.succeeded_1_h is 'jobs that succeeded within the last hour';
comment on column errand.queues.failed_1_h is 'jobs that failed for good within the last hour';
comment on column errand.queues.retried_1_h is 'attempts that failed and are retried, within the last hour';
comment on column errand.queues.wait_p50_ms_5_min is
    'from due to started, last 5 minutes, median, in milliseconds';
comment on column errand.queues.wait_p95_ms_5_min is 'the same, 95th percentile';
comment on column errand.queues.run_p50_ms_5_min is
    'from started to completed, last 5 minutes, median, in milliseconds';
comment on column errand.queues.run_p95_ms_5_min is 'the same, 95th percentile';
comment on column errand.queues.wait_p50_ms_1_h is 'from due to started, last hour, median, in milliseconds';
comment on column errand.queues.wait_p95_ms_1_h is 'the same, 95th percentile';
comment on column errand.queues.wait_p99_ms_1_h is 'the same, 99th percentile';
comment on column errand.queues.run_p50_ms_1_h is 'from started to completed, last hour, median, in milliseconds';
comment on column errand.queues.run_p95_ms_1_h is 'the same, 95th percentile';
comment on column errand.queues.run_p99_ms_1_h is 'the same, 99th percentile';
comment on column errand.queues.paused_at is 'when it was paused; null = it is not paused';
comment on column errand.queues.paused_until is 'when the pause ends; null = at errand.resume_queue';
comment on column errand.queues.paused_by is 'who paused it';
comment on column errand.queues.paused_reason is 'why, in the words of the operator';
comment on column errand.queues.stands_still is
    'whether a job has been due for a minute and none has started, though a worker has an idle slot and nothing on '
    'record keeps the jobs back';
comment on column errand.queues.counted_at is 'time of the last statistics';
