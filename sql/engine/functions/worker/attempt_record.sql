-- attempt_record: returns the job's record of past attempts with the present one added, for the column attempts.
create or replace function errand_internal.attempt_record(
    job errand.job, worker text, outcome text, error text
) returns jsonb
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(job.attempts, '[]') || jsonb_strip_nulls(jsonb_build_object(
        'attempt', job.attempt, 'worker', coalesce(worker, job.worker_id::text), 'started_at', job.started_at,
        'ended_at', clock_timestamp(), 'outcome', outcome, 'error', left(error, 4000)))
$$;
