-- kinds: one row for each kind: its workers, jobs, rates and times.
--
-- Its jobs are counted now if errand_internal.count_now can count all of that state. Otherwise they are from the last
-- statistics, or there are at least so many.
-- errand: for ops, monitor
-- errand: topic rates, pause
create or replace view errand.kinds as
with counted_now as materialized (
    select * from errand_internal.count_now()
),
whole as (
    select
        bool_and(is_whole) filter (where state in ('available', 'running')) as active,
        bool_and(is_whole) filter (where state = 'scheduled') as scheduled,
        bool_and(is_whole) filter (where state = 'parked') as parked
    from counted_now
),
fresh as (
    select
        kind,
        coalesce(sum(jobs) filter (where state = 'available'), 0)::bigint as available,
        coalesce(sum(jobs) filter (where state = 'running'), 0)::bigint as running,
        coalesce(sum(jobs) filter (where state = 'scheduled'), 0)::bigint as scheduled,
        coalesce(sum(jobs) filter (where state = 'parked'), 0)::bigint as parked
    from counted_now
    where kind is not null
    group by kind
),
named as (
    select name from errand.kind
    union
    select kind from errand.job_count
    union
    select kind from errand.finished_total
    union
    select kind from fresh
)
select
    named.name as kind,
    kind.queue,
    kind.priority,
    kind.max_attempts,
    kind.limit_key,
    kind.rate_key,
    kind.circuits,
    kind.on_failure,
    kind.order_key,
    kind.if_head_fails,
    coalesce(alive.workers, 0) as workers,
    greatest(case when not whole.active then job_count.available end, fresh.available, 0) as waiting,
    greatest(case when not whole.active then job_count.running end, fresh.running, 0) as running,
    greatest(case when not whole.scheduled then job_count.scheduled end, fresh.scheduled, 0) as scheduled,
    greatest(case when not whole.parked then job_count.parked end, fresh.parked, 0) as parked,
    coalesce(job_count.failed, 0) as failed,
    coalesce(hour.succeeded, 0) as succeeded_1_h,
    coalesce(hour.failed, 0) as failed_1_h,
    coalesce(hour.retried, 0) as retried_1_h,
    round(100.0 * hour.succeeded / nullif(hour.succeeded + hour.failed + hour.retried, 0), 1) as succeeded_percent_1_h,
    hour.wait_p50_ms as wait_p50_ms_1_h,
    hour.wait_p95_ms as wait_p95_ms_1_h,
    hour.run_p50_ms as run_p50_ms_1_h,
    hour.run_p95_ms as run_p95_ms_1_h,
    hour.run_p99_ms as run_p99_ms_1_h,
    ended.last_succeeded,
    ended.last_failed,
    (select done_at from errand.maintenance_task where name = 'statistics') as counted_at
from named
cross join whole
left join fresh on fresh.kind = named.name
left join errand.kind on kind.name = named.name
left join (
    select kind, count(*) as workers
    from errand.worker
    cross join unnest(kinds) as kind
    where heartbeat_at + lease > now() and drained_at is null
    group by kind
) as alive on alive.kind = named.name
left join (
    select
        kind,
        sum(jobs) filter (where state = 'available')::bigint as available,
        sum(jobs) filter (where state = 'running')::bigint as running,
        sum(jobs) filter (where state = 'scheduled')::bigint as scheduled,
        sum(jobs) filter (where state = 'parked')::bigint as parked,
        sum(jobs) filter (where state = 'failed')::bigint as failed
    from errand.job_count
    group by kind
) as job_count on job_count.kind = named.name
left join (
    select
        kind,
        max(minute) filter (where outcome = 'succeeded') as last_succeeded,
        max(minute) filter (where outcome = 'failed') as last_failed
    from (
        select kind, last_minute as minute, outcome from errand.finished_total
        union all
        select kind, minute, outcome from errand.finished_per_minute where worker_id <> 0
    ) as minutes
    group by kind
) as ended on ended.kind = named.name
left join errand.throughput as hour
    on hour.subject = 'kind' and hour.name = named.name and hour.span = interval '1 hour';
comment on view errand.kinds is
    'One row for each kind: live workers that have it (0 = its jobs wait), depth, rates, times, its last success';
comment on column errand.kinds.kind is 'the kind''s name';
comment on column errand.kinds.queue is 'queue of its jobs, unless an enqueue names one';
comment on column errand.kinds.priority is 'priority of its jobs, unless an enqueue names one';
comment on column errand.kinds.max_attempts is 'attempts of its jobs, unless an enqueue names a number';
comment on column errand.kinds.limit_key is 'limit of its jobs, unless an enqueue names one';
comment on column errand.kinds.rate_key is 'rate of its jobs, unless an enqueue names one';
comment on column errand.kinds.circuits is 'the circuits of its jobs';
comment on column errand.kinds.on_failure is 'the kind of the job that each of its failures enqueues';
comment on column errand.kinds.order_key is 'order key of its jobs, unless an enqueue names one';
comment on column errand.kinds.if_head_fails is 'block or go_on, for its jobs with an order key; null = block';
comment on column errand.kinds.workers is 'live workers that have it';
comment on column errand.kinds.waiting is 'available jobs';
comment on column errand.kinds.running is 'running jobs';
comment on column errand.kinds.scheduled is 'scheduled jobs';
comment on column errand.kinds.parked is 'parked jobs';
comment on column errand.kinds.failed is
    'failed jobs that were neither retried nor discarded, by the last statistics';
comment on column errand.kinds.succeeded_1_h is 'jobs that succeeded within the last hour';
comment on column errand.kinds.failed_1_h is 'jobs that failed for good within the last hour';
comment on column errand.kinds.retried_1_h is 'attempts that failed and are retried, within the last hour';
comment on column errand.kinds.succeeded_percent_1_h is
    'percentage of attempts within the last hour that succeeded';
comment on column errand.kinds.wait_p50_ms_1_h is 'from due to started, median, in milliseconds';
comment on column errand.kinds.wait_p95_ms_1_h is 'the same, 95th percentile';
comment on column errand.kinds.run_p50_ms_1_h is 'from started to completed, median, in milliseconds';
comment on column errand.kinds.run_p95_ms_1_h is 'the same, 95th percentile';
comment on column errand.kinds.run_p99_ms_1_h is 'the same, 99th percentile';
comment on column errand.kinds.last_succeeded is 'the minute of its last success';
comment on column errand.kinds.last_failed is 'the minute of its last failure';
comment on column errand.kinds.counted_at is 'time of the last statistics';
