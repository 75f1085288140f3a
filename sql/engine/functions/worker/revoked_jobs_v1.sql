-- revoked_jobs_v1: returns those of the given jobs that the worker no longer holds at their positions: an operator has
-- cancelled them, or they were rescued. Raises 55P03 if errand.job is locked for longer than half a second, because a
-- heartbeat waits for this call.
create or replace function errand_internal.revoked_jobs_v1(job_ids bigint[], positions bigint[]) returns bigint[]
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp
set lock_timeout = '500ms'
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return array(
        select asked.id
        from unnest(job_ids, positions) as asked(id, queue_position)
        -- No join: as errand_internal.finish_v1 explains, the planner could read a whole index for it.
        where (
            select existing.queue_position from errand.job as existing where existing.id = asked.id
                and existing.state = 'running'
        ) is distinct from asked.queue_position);
end
$$;
