-- prune_claims_v1: removes the records of a process's claims of these generations, of which it holds no job any more.
--
-- Generations are numbered within the process, so they need not be matched with the worker ids. Raises 55P03 if
-- errand.claim is locked for longer than half a second, because a heartbeat waits for this call.
create or replace function errand_internal.prune_claims_v1(worker_ids bigint[], generations int[]) returns void
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set lock_timeout = '500ms' set jit = off set enable_seqscan = off
as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    delete from errand.claim where claim.worker_id = any (worker_ids) and claim.generation = any (generations);
end
$$;
