-- is_run_by: returns whether a worker runs the job at that position, by what is committed.
create or replace function errand_internal.is_run_by(
    worker_id bigint, id bigint, queue_position bigint
) returns boolean
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select exists (
        select
        from errand.job
        where job.id = is_run_by.id and coalesce(job.queue_position, 0) = is_run_by.queue_position
            and job.worker_id = is_run_by.worker_id and job.state = 'running')
$$;
