-- steps_v1: returns the steps that a running attempt's job has on record, the first one first.
--
-- Raises ER409 if the job is no longer this worker's: the attempt is to end.
create or replace function errand_internal.steps_v1(
    worker_id bigint, id bigint, queue_position bigint
) returns table (name text, output jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    if errand_internal.is_run_by(steps_v1.worker_id, steps_v1.id, steps_v1.queue_position) is not true then
        raise exception 'steps: expected an attempt that runs, got one that has ended' using errcode = 'ER409';
    end if;
    return query
    select step.name, step.output
    from errand.step
    where step.job_id = steps_v1.id
    order by step.recorded_at, step.name;
end
$$;
