-- queue_status: one row for each queue: its depth, throughput and pause.
--
-- The cost depends on the number of queues, not of jobs. Up to 250 entries of each priority are counted now. If there
-- are more, waiting and running are from the last statistics (errand.refresh_statistics_v1), and is_estimate is true.
-- Scheduled and parked jobs are counted now while there are fewer than 1,000 in all queues. Failed jobs are from the
-- last statistics.
--
-- A job whose kind no live worker of its queue has does not make the queue late: errand.overdue shows the kind.
create or replace view errand.queue_status as
with alive as materialized (
    select queues, kinds from errand.worker where heartbeat_at + lease > now() and drained_at is null
),
later as materialized (
    select queue from errand.job where queue_position is null and parked_for is null order by run_at limit 1000
),
held_back as materialized (
    select queue from errand.job where parked_for is not null order by parked_for limit 1000
)
select
    named.queue,
    case when depth.is_whole then depth.waiting else greatest(job_count.available, depth.waiting) end as waiting,
    case when depth.is_whole then depth.running else greatest(job_count.running, depth.running) end as running,
    case
        when (select count(*) from later) < 1000 then (select count(*) from later where later.queue = named.queue)
        else coalesce(job_count.scheduled, 0)
    end as scheduled,
    case
        when (select count(*) from held_back) < 1000
            then (select count(*) from held_back where held_back.queue = named.queue)
        else coalesce(job_count.parked, 0)
    end as parked,
    coalesce(job_count.failed, 0) as failed,
    not depth.is_whole as is_estimate,
    depth.oldest_due_at,
    greatest(now() - depth.oldest_due_at, interval '0') as oldest_age,
    served.workers,
    coalesce(recent.succeeded, 0)::bigint as succeeded_5_min,
    coalesce(recent.failed, 0)::bigint as failed_5_min,
    coalesce(recent.retried, 0)::bigint as retried_5_min,
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
    held.paused_at,
    held.paused_until,
    held.paused_by,
    held.paused_reason,
    (select done_at from errand.maintenance_task where name = 'statistics') as counted_at
from errand.queue_names() as named(queue)
left join errand.queue as held on held.name = named.queue and held.paused_at is not null
cross join lateral (
    select
        (select count(*) from alive where named.queue = any (alive.queues)) as workers,
        array(
            select distinct kind
            from alive
            cross join unnest(alive.kinds) as kind
            where named.queue = any (alive.queues)
        ) as kinds
) as served
cross join lateral (
    select
        coalesce(sum(level.waiting), 0)::bigint as waiting,
        coalesce(sum(level.running), 0)::bigint as running,
        coalesce(max(level.counted), 0) < 250 as is_whole,
        min(coalesce(level.oldest_due_at, behind.run_at)) as oldest_due_at
    from generate_series(1, 4) as priority
    cross join lateral (
        select
            count(*) as counted,
            count(*) filter (where state = 'available') as waiting,
            count(*) filter (where state = 'running') as running,
            min(run_at) filter (
                where state = 'available' and isfinite(run_at) and (served.workers = 0 or kind = any (served.kinds))
            ) as oldest_due_at
        from (
            select job.state, job.run_at, job.kind
            from errand.job
            where job.queue = named.queue and job.priority = priority.priority and job.queue_position is not null
            order by job.queue_position
            limit 250) as near
    ) as level
    left join lateral (
        -- If all of these are of kinds without a worker, the first of another kind among the next 10,000.
        select further.run_at
        from (
            select job.state, job.run_at, job.kind
            from errand.job
            where job.queue = named.queue and job.priority = priority.priority and job.queue_position is not null
            order by job.queue_position
            offset 250
            limit 10000) as further
        where level.counted = 250 and level.oldest_due_at is null and further.state = 'available'
            and isfinite(further.run_at) and further.kind = any (served.kinds)
        limit 1
    ) as behind on true
) as depth
cross join lateral (
    select
        sum(jobs) filter (where state = 'available')::bigint as available,
        sum(jobs) filter (where state = 'running')::bigint as running,
        sum(jobs) filter (where state = 'scheduled')::bigint as scheduled,
        sum(jobs) filter (where state = 'parked')::bigint as parked,
        sum(jobs) filter (where state = 'failed')::bigint as failed
    from errand.job_count
    where job_count.queue = named.queue
) as job_count
-- Minute by minute: the index begins with it, and a range of minutes would be read as a whole for each queue.
cross join lateral (
    select sum(of_minute.succeeded) as succeeded, sum(of_minute.failed) as failed, sum(of_minute.retried) as retried
    from generate_series(0, 4) as ago
    cross join lateral (
        select
            sum(jobs) filter (where outcome = 'succeeded') as succeeded,
            sum(jobs) filter (where outcome = 'failed') as failed,
            sum(jobs) filter (where outcome = 'retried') as retried
        from errand.finished_per_minute as finished
        where finished.queue = named.queue and finished.minute = date_trunc('minute', now()) - ago * interval '1 minute'
    ) as of_minute
) as recent
-- With a limit, so that each is found by the index, and not by a join with all queues.
left join lateral (
    select *
    from errand.throughput
    where throughput.subject = 'queue' and throughput.name = named.queue and throughput.span = interval '5 minutes'
    limit 1
) as minutes on true
left join lateral (
    select *
    from errand.throughput
    where throughput.subject = 'queue' and throughput.name = named.queue and throughput.span = interval '1 hour'
    limit 1
) as hour on true;
comment on view errand.queue_status is
    'One row for each queue: depth by state, oldest due job, rates, times, pause. Takes milliseconds for any length of '
    'queue';
comment on column errand.queue_status.queue is 'the queue''s name';
comment on column errand.queue_status.waiting is 'available jobs';
comment on column errand.queue_status.running is 'running jobs';
comment on column errand.queue_status.scheduled is 'scheduled jobs';
comment on column errand.queue_status.parked is
    'parked jobs: they wait for a limit, a dependency, or after two crashes of their worker';
comment on column errand.queue_status.failed is 'failed jobs that were neither retried nor discarded';
comment on column errand.queue_status.is_estimate is
    'whether waiting and running are from the last statistics, not from now';
comment on column errand.queue_status.oldest_due_at is
    'since when the oldest waiting job is due, among kinds that a live worker of the queue has; all kinds if it has no '
    'worker';
comment on column errand.queue_status.oldest_age is 'how long that is';
comment on column errand.queue_status.workers is 'live workers that claim from it, without drained ones';
comment on column errand.queue_status.succeeded_5_min is 'jobs that succeeded within the last 5 minutes';
comment on column errand.queue_status.failed_5_min is 'jobs that failed for good within the last 5 minutes';
comment on column errand.queue_status.retried_5_min is
    'attempts that failed and are retried, within the last 5 minutes';
comment on column errand.queue_status.succeeded_1_h is 'jobs that succeeded within the last hour';
comment on column errand.queue_status.failed_1_h is 'jobs that failed for good within the last hour';
comment on column errand.queue_status.retried_1_h is 'attempts that failed and are retried, within the last hour';
comment on column errand.queue_status.wait_p50_ms_5_min is
    'from due to started, last 5 minutes, median, in milliseconds';
comment on column errand.queue_status.wait_p95_ms_5_min is 'the same, 95th percentile';
comment on column errand.queue_status.run_p50_ms_5_min is
    'from started to completed, last 5 minutes, median, in milliseconds';
comment on column errand.queue_status.run_p95_ms_5_min is 'the same, 95th percentile';
comment on column errand.queue_status.wait_p50_ms_1_h is 'from due to started, last hour, median, in milliseconds';
comment on column errand.queue_status.wait_p95_ms_1_h is 'the same, 95th percentile';
comment on column errand.queue_status.wait_p99_ms_1_h is 'the same, 99th percentile';
comment on column errand.queue_status.run_p50_ms_1_h is 'from started to completed, last hour, median, in milliseconds';
comment on column errand.queue_status.run_p95_ms_1_h is 'the same, 95th percentile';
comment on column errand.queue_status.run_p99_ms_1_h is 'the same, 99th percentile';
comment on column errand.queue_status.paused_at is 'when it was paused; null = it is not paused';
comment on column errand.queue_status.paused_until is 'when the pause ends; null = at errand.resume';
comment on column errand.queue_status.paused_by is 'who paused it';
comment on column errand.queue_status.paused_reason is 'why, in the words of the operator';
comment on column errand.queue_status.counted_at is 'time of the last statistics';
