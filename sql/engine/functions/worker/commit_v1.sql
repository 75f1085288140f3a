-- commit_v1: completes one attempt in its handler's own transaction. What the handler has written and the completion
-- commit together, or neither does. The arguments are one element each of those of errand_internal.complete_v1.
--
-- Returns the state. completed: done, with the transaction as in finish_v1, and with the error_id of a failure. locked:
-- another session has locked the job's row; call again a moment later, or roll back. revoked: the job is no longer this
-- worker's; the handler must roll back. unwanted: the job's guard says no now; the handler must roll back.
--
-- Raises ER413 for an output of more than 256 KB as text: what the handler has written must not commit.
create or replace function errand_internal.commit_v1(
    worker_id bigint, id bigint, queue_position bigint, outcome text, error text, delay_ms bigint, output jsonb,
    due timestamptz, circuit text, out state text, out completed_by bigint,
    out error_id text
)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_variable
declare
    existing errand.job;
begin
    if errand_internal.output_problem(output) is not null then
        raise exception '%', errand_internal.output_problem(output) using errcode = 'ER413';
    end if;
    select * into existing
    from errand.job
    where job.id = commit_v1.id and coalesce(job.queue_position, 0) = commit_v1.queue_position
        and job.worker_id = commit_v1.worker_id and job.state = 'running'
    for update skip locked;
    if not found then
        state := case when errand_internal.is_run_by(worker_id, id, queue_position) then 'locked' else 'revoked' end;
        return;
    elsif existing.guard is not null and not errand_internal.still_wanted(existing) then
        state := 'unwanted';
        return;
    end if;
    select written.completed_by, written.error_ids[1] into completed_by, error_id
    from errand_internal.complete_v1(
        worker_id, array[id], array[queue_position], array[outcome], array[error], array[delay_ms], array[output],
        array[due], array[circuit]) as written;
    state := 'completed';
end
$$;
