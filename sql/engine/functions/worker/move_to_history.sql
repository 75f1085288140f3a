-- move_to_history: moves one job, as given, from errand.job to the history.
create or replace function errand.move_to_history(job errand.job, state text, output jsonb, reason text) returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    delete from errand.job as live where live.id = job.id;
    insert into errand.history (
        id, worker_id, created_at, run_at, started_at, priority, attempt, max_attempts, crashes, state, queue, kind,
        unique_key, payload, payload_day, attempts, output, reason, not_after, limit_key, guard, tags, traceparent,
        subject)
    values (
        job.id, job.worker_id, job.created_at, job.run_at, job.started_at, job.priority, job.attempt, job.max_attempts,
        job.crashes, state, job.queue, job.kind, job.unique_key, job.payload, job.payload_day, job.attempts, output,
        left(reason, 4000), job.not_after, job.limit_key, job.guard, job.tags, job.traceparent, job.subject);
$$;
