-- revoked_jobs_v1: those of the given jobs that are no longer held under their position (line): cancelled by ops, or
-- rescued. Raises 55P03 where errand.job is locked for longer than half a second, as a heartbeat waits behind this.
create or replace function errand.revoked_jobs_v1(job_ids bigint[], positions bigint[]) returns bigint[]
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
        -- No join: what errand.finish_v1 says of the planner would have it read all of an index here too.
        where (
            select held.queue_position from errand.job as held where held.id = asked.id and held.state = 'running'
        ) is distinct from asked.queue_position);
end
$$;
comment on function errand.revoked_jobs_v1(bigint[], bigint[]) is
    'For workers: those of the given jobs that they no longer hold under these positions';
