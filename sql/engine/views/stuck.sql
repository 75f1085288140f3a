-- stuck: running jobs whose worker is lost, or that take far longer than usual for their kind.
--
-- Usual is the 99th percentile of the last hour or of all completed attempts, whichever is longer: a job that runs once
-- a week has none of the last hour.
--
-- Starts from the claims that are older than 5 minutes or whose worker is lost: few, however many jobs wait or run.
-- errand: for ops, monitor
-- errand: topic find, health
create or replace view errand.stuck as
with running as (
    select job.id, job.queue, job.kind, job.attempt, job.worker_id, job.started_at
    from errand.claim
    left join errand.worker on worker.id = claim.worker_id
    cross join lateral (
        select *
        from errand.job
        where job.id = any (claim.job_ids)
        -- So that each is found by its id, and never by a read of all jobs.
        offset 0
    ) as job
    where (claim.claimed_at < now() - interval '5 minutes' or worker.id is null
        or worker.heartbeat_at + worker.lease <= now())
        and job.state = 'running' and job.worker_id = claim.worker_id and isfinite(job.started_at)
),
usual as materialized (
    select kind.name, nullif(greatest(hour.run_p99_ms, ever.run_p99_ms, 0), 0) * interval '1 millisecond' as run_p99
    from (select distinct kind from running) as kind(name)
    left join errand.throughput as hour
        on hour.subject = 'kind' and hour.name = kind.name and hour.span = interval '1 hour'
    cross join lateral (
        -- The end of the first bucket that reaches the share.
        select min(power(2, (index - 1) / 2::float8)) as run_p99_ms
        from (
            select index, sum(attempts) over (order by index) as upto, sum(attempts) over () as whole
            from (
                select entry.index, sum(entry.n) as attempts
                from errand.finished_total as past
                cross join lateral unnest(past.run_histogram) with ordinality as entry(n, index)
                where past.kind = kind.name and past.outcome <> 'released'
                group by entry.index
            ) as bucket
        ) as cumulated
        where upto >= 0.99 * whole and whole > 0
    ) as ever
)
select
    running.id as job_id,
    running.queue,
    running.kind,
    running.attempt,
    running.worker_id,
    worker.name as worker,
    running.started_at,
    now() - running.started_at as running_for,
    case
        when worker.id is null then 'its worker has no lease any more'
        when worker.heartbeat_at + worker.lease <= now() then 'its worker is lost'
        when usual.run_p99 is null then 'it takes over an hour, and no job of its kind has completed so far'
        else format('it takes far longer than usual: 99 %% of its kind complete within %s', usual.run_p99)
    end as problem,
    case
        when worker.id is null or worker.heartbeat_at + worker.lease <= now()
            then 'maintenance rescues it; does a worker or scheduler run?'
        else format(
            'select * from errand.running_jobs where job_id = %1$s -- if its progress stands still: '
            'select * from errand.cancel_job(%1$s, ''…'')', running.id)
    end as hint
from running
left join errand.worker on worker.id = running.worker_id
join usual on usual.name = running.kind
where worker.id is null
    or worker.heartbeat_at + worker.lease <= now()
    or running.started_at < now() - case
        when usual.run_p99 is null then interval '1 hour' else greatest(interval '5 minutes', 10 * usual.run_p99)
    end;
comment on view errand.stuck is
    'Running jobs whose worker is lost, or that take over 5 minutes and ten times the 99th percentile of their kind '
    '(an hour, if it has none)';
comment on column errand.stuck.job_id is 'the job';
comment on column errand.stuck.queue is 'its queue';
comment on column errand.stuck.kind is 'its kind';
comment on column errand.stuck.attempt is 'the running attempt';
comment on column errand.stuck.worker_id is 'the worker that holds it';
comment on column errand.stuck.worker is 'the worker''s name';
comment on column errand.stuck.started_at is 'when it was claimed';
comment on column errand.stuck.running_for is 'how long ago that is';
comment on column errand.stuck.problem is 'what is wrong';
comment on column errand.stuck.hint is 'what to do';
