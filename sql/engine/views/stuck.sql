-- stuck: running jobs whose worker is lost, or that take far longer than usual for their kind.
--
-- Starts from the claims that are older than 5 minutes or whose worker is lost: few, however many jobs wait or run.
create or replace view errand.stuck as
with held as (
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
)
select
    held.id as job_id,
    held.queue,
    held.kind,
    held.attempt,
    held.worker_id,
    worker.name as worker,
    held.started_at,
    now() - held.started_at as running_for,
    case
        when worker.id is null then 'its worker has no lease any more'
        when worker.heartbeat_at + worker.lease <= now() then 'its worker is lost'
        else 'it takes far longer than usual'
    end as problem,
    case
        when worker.id is null or worker.heartbeat_at + worker.lease <= now()
            then 'housekeeping rescues it; does a worker or scheduler run?'
        else format('select * from errand.cancel(''{%s}'', reason => ''…'')', held.id)
    end as hint
from held
left join errand.worker on worker.id = held.worker_id
left join errand.throughput as usual
    on usual.subject = 'kind' and usual.name = held.kind and usual.span = interval '1 hour'
where worker.id is null
    or worker.heartbeat_at + worker.lease <= now()
    or held.started_at < now() - greatest(
        interval '5 minutes', 10 * coalesce(usual.run_p99_ms, 0) * interval '1 millisecond');
comment on view errand.stuck is
    'Running jobs whose worker is lost, or that take over 5 minutes and ten times the 99th percentile of their kind';
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
