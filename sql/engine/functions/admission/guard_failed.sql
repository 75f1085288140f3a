-- guard_failed: counts an attempt for a job whose guard raised an error. The guard is called again in 30 s; after the
-- last attempt the job fails.
create or replace function errand_internal.guard_failed(job errand.job, problem text) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    job.attempt := job.attempt + 1;
    job.started_at := clock_timestamp();
    if job.attempt >= job.max_attempts then
        job.attempts := errand_internal.attempt_record(job, 'guard', 'failed', problem);
        perform errand_internal.move_to_failed(job, problem);
    else
        update errand.job as live
        set state = 'scheduled', queue_position = null, attempt = job.attempt, started_at = job.started_at,
            run_at = now() + interval '30 seconds',
            attempts = errand_internal.attempt_record(job, 'guard', 'retried', problem)
        where live.id = job.id;
    end if;
end
$$;
