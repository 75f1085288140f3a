-- running_jobs: the jobs that workers hold: where each runs, since when, and how far it is. Those that run longest come
-- first.
--
-- Found by the records of claims, so the cost depends on what runs and not on what waits. A worker also holds the few
-- jobs that it has prefetched.
-- errand: for ops, monitor
-- errand: topic find
create or replace view errand.running_jobs as
select
    job.id as job_id,
    job.kind,
    job.queue,
    job.attempt,
    job.started_at,
    now() - job.started_at as running_for,
    worker.id as worker_id,
    worker.name as worker,
    worker.heartbeat_at + worker.lease <= now() as is_lost,
    reported.fraction as progress,
    case when (select errand_internal.sees_content()) then reported.message end as progress_message,
    reported.updated_at as progress_at
from errand.claim
join errand.worker on worker.id = claim.worker_id
cross join lateral (
    select *
    from errand.job
    where id = any (claim.job_ids)
    -- So that each is found by its id, and never by a read of all jobs.
    offset 0
) as job
left join errand.progress as reported
    on reported.job_id = job.id and reported.queue_position = job.queue_position
where job.state = 'running' and job.worker_id = claim.worker_id
order by job.started_at, job.id;
comment on view errand.running_jobs is
    'The jobs that workers hold: where each runs, since when, and how far it is; the longest first';
comment on column errand.running_jobs.job_id is 'the job, for errand.explain and errand.cancel';
comment on column errand.running_jobs.kind is 'its kind';
comment on column errand.running_jobs.queue is 'its queue';
comment on column errand.running_jobs.attempt is 'the number of the attempt';
comment on column errand.running_jobs.started_at is 'when the attempt was claimed';
comment on column errand.running_jobs.running_for is 'how long ago that is';
comment on column errand.running_jobs.worker_id is 'the worker that holds it';
comment on column errand.running_jobs.worker is 'the worker''s name: its host and process';
comment on column errand.running_jobs.is_lost is 'whether the worker is lost: maintenance rescues the job';
comment on column errand.running_jobs.progress is 'how much is done, 0 to 1, as its handler last reported';
comment on column errand.running_jobs.progress_message is 'what the handler did then; null for errand_monitor';
comment on column errand.running_jobs.progress_at is 'when its handler last reported or logged';
