-- hold_run: locks the row of a job that a worker runs until the transaction ends, so that nobody takes it meanwhile.
-- Returns again, locked or revoked, as errand_internal.run_handler_v1 does.
create or replace function errand_internal.hold_run(worker_id bigint, id bigint, queue_position bigint) returns text
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform
    from errand.job
    where job.id = hold_run.id and coalesce(job.queue_position, 0) = hold_run.queue_position
        and job.worker_id = hold_run.worker_id and job.state = 'running'
    for no key update skip locked;
    return case
        when found then 'again'
        when errand_internal.is_run_by(worker_id, id, queue_position) then 'locked'
        else 'revoked'
    end;
end
$$;
