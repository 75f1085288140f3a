-- kind_status: a row a kind: who knows it, how much of it there is, how it fares.
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
    where heartbeat_at + lease > now()
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
    'A row a kind: live workers that know it (0 = its jobs wait for one), depth, rates, times, its last success';
comment on column errand.kind_status.kind is 'names the kind';
comment on column errand.kind_status.queue is 'where its jobs go unless an enqueue says otherwise';
comment on column errand.kind_status.priority is 'as for the queue';
comment on column errand.kind_status.max_attempts is 'as for the queue';
comment on column errand.kind_status.limit_key is 'the limit of jobs that name none';
comment on column errand.kind_status.dependency is 'what its jobs need';
comment on column errand.kind_status.workers is 'live workers that know it';
comment on column errand.kind_status.waiting is 'jobs in line, as housekeeping counted them last';
comment on column errand.kind_status.running is 'jobs that run, likewise';
comment on column errand.kind_status.scheduled is 'jobs that wait for their time, likewise';
comment on column errand.kind_status.parked is 'jobs that are held back, likewise';
comment on column errand.kind_status.failed is 'jobs that failed and were neither retried nor discarded, likewise';
comment on column errand.kind_status.succeeded_1_h is 'jobs that succeeded within the last hour';
comment on column errand.kind_status.failed_1_h is 'jobs that failed for good within the last hour';
comment on column errand.kind_status.retried_1_h is 'attempts that failed and are tried again, within the last hour';
comment on column errand.kind_status.succeeded_percent_1_h is 'of 100 attempts within the last hour, so many succeeded';
comment on column errand.kind_status.wait_p50_ms_1_h is 'from due to started: half waited less, in milliseconds';
comment on column errand.kind_status.wait_p95_ms_1_h is '95 of 100 waited less';
comment on column errand.kind_status.run_p50_ms_1_h is 'from started to ended: half took less, in milliseconds';
comment on column errand.kind_status.run_p95_ms_1_h is '95 of 100 took less';
comment on column errand.kind_status.run_p99_ms_1_h is '99 of 100 took less';
comment on column errand.kind_status.last_succeeded is 'the minute of its last success';
comment on column errand.kind_status.last_failed is 'the minute of its last failure';
comment on column errand.kind_status.counted_at is 'when housekeeping counted last';
