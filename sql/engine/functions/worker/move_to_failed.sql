-- move_to_failed: moves one job, as given, from errand.job to errand.failed.
--
-- The payload goes with it, so a failure does not keep a day of errand.payload for 30 days.
create or replace function errand.move_to_failed(job errand.job, error text) returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    delete from errand.job as live where live.id = job.id;
    insert into errand.failed (
        id, worker_id, created_at, run_at, started_at, priority, attempt, max_attempts, crashes, queue, kind,
        unique_key, payload, attempts, error, not_after, limit_key, guard, tags, traceparent, subject)
    values (
        job.id, job.worker_id, job.created_at, job.run_at, job.started_at, job.priority, job.attempt, job.max_attempts,
        job.crashes, job.queue, job.kind, job.unique_key,
        coalesce(job.payload, errand.take_payload(job.payload_day, job.id)), job.attempts,
        left(coalesce(error, 'no reason given'), 4000), job.not_after, job.limit_key, job.guard, job.tags,
        job.traceparent, job.subject);
$$;
