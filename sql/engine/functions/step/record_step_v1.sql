-- record_step_v1: records what a step of a running attempt has returned, unless the job has a step of that name. Until
-- the end of the transaction the job's row is locked: what the caller has written commits with the step, or not at all.
--
-- The fence is the position, as in errand_internal.finish_v1, which leaves a job with steps to complete_v1 because of
-- this lock. Returns the state. recorded: it is on record now. known: it was before, and existing is what it returned
-- then. locked: another session has locked the job's row; call again a moment later, or roll back. revoked: the job is
-- no longer this worker's; the caller must roll back.
--
-- Raises ER422 for a name that isn't 1 to 200 characters, and ER413 for an output of more than 256 KB as text.
create or replace function errand_internal.record_step_v1(
    worker_id bigint, id bigint, queue_position bigint, name text, output jsonb, out state text, out existing jsonb
)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
begin
    perform errand_internal.check_name('step', name);
    if errand_internal.output_problem(output) is not null then
        raise exception 'step: %', errand_internal.output_problem(output)
            using errcode = 'ER413', hint = 'Store the data and put its key into the output.';
    end if;
    perform
    from errand.job
    where job.id = id and coalesce(job.queue_position, 0) = queue_position and job.worker_id = worker_id
        and job.state = 'running'
    for update skip locked;
    if not found then
        state := case when errand_internal.is_run_by(worker_id, id, queue_position) then 'locked' else 'revoked' end;
        return;
    end if;
    state := 'recorded';
    insert into errand.step (job_id, name, output) values (id, name, output) on conflict do nothing;
    if not found then
        state := 'known';
        select step.output into existing from errand.step where step.job_id = id and step.name = name;
    end if;
end
$$;
