-- kind_status: one row for each kind: its workers, jobs, rates and times.
create or replace view errand.kind_status as
with named as (
    select name from errand.kind
    union
    select kind from errand.job_count
    union
    select kind from errand.finished_total
)
select
    named.name as kind,
    known.queue,
    known.priority,
    known.max_attempts,
    known.limit_key,
    known.dependency,
    coalesce(alive.workers, 0) as workers,
    coalesce(job_count.available, 0) as waiting,
    coalesce(job_count.running, 0) as running,
    coalesce(job_count.scheduled, 0) as scheduled,
    coalesce(job_count.parked, 0) as parked,
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
left join errand.kind as known on known.name = named.name
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
comment on view errand.kind_status is
    'One row for each kind: live workers that have it (0 = its jobs wait), depth, rates, times, its last success';
comment on column errand.kind_status.kind is 'the kind''s name';
comment on column errand.kind_status.queue is 'queue of its jobs, unless an enqueue names one';
comment on column errand.kind_status.priority is 'priority of its jobs, unless an enqueue names one';
comment on column errand.kind_status.max_attempts is 'attempts of its jobs, unless an enqueue names a number';
comment on column errand.kind_status.limit_key is 'limit of its jobs, unless an enqueue names one';
comment on column errand.kind_status.dependency is 'the dependency of its jobs';
comment on column errand.kind_status.workers is 'live workers that have it';
comment on column errand.kind_status.waiting is 'available jobs, by the last statistics';
comment on column errand.kind_status.running is 'running jobs, by the last statistics';
comment on column errand.kind_status.scheduled is 'scheduled jobs, by the last statistics';
comment on column errand.kind_status.parked is 'parked jobs, by the last statistics';
comment on column errand.kind_status.failed is
    'failed jobs that were neither retried nor discarded, by the last statistics';
comment on column errand.kind_status.succeeded_1_h is 'jobs that succeeded within the last hour';
comment on column errand.kind_status.failed_1_h is 'jobs that failed for good within the last hour';
comment on column errand.kind_status.retried_1_h is 'attempts that failed and are retried, within the last hour';
comment on column errand.kind_status.succeeded_percent_1_h is
    'percentage of attempts within the last hour that succeeded';
comment on column errand.kind_status.wait_p50_ms_1_h is 'from due to started, median, in milliseconds';
comment on column errand.kind_status.wait_p95_ms_1_h is 'the same, 95th percentile';
comment on column errand.kind_status.run_p50_ms_1_h is 'from started to completed, median, in milliseconds';
comment on column errand.kind_status.run_p95_ms_1_h is 'the same, 95th percentile';
comment on column errand.kind_status.run_p99_ms_1_h is 'the same, 99th percentile';
comment on column errand.kind_status.last_succeeded is 'the minute of its last success';
comment on column errand.kind_status.last_failed is 'the minute of its last failure';
comment on column errand.kind_status.counted_at is 'time of the last statistics';
