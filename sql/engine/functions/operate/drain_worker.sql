-- drain_worker: lets a worker claim nothing more, such as before its host restarts. What it has claimed runs on.
--
--   select * from errand.drain_worker(17, reason => 'its host restarts');
--   select running, drained_at from errand.workers where id = 17;
--
-- The process stays alive and idle, keeps its lease and does its maintenance, until it is stopped or
-- errand.undrain_worker is called. A restarted process is not drained: it has a new id. Neither is one that has lost
-- its lease. A process that takes another id because the result of a claim was lost stays drained.
--
-- Returns its name, and how many jobs it ran at its last heartbeat. A drained worker gets the new reason.
-- Raises ER404 for an unknown worker, ER422 without a reason.
-- errand: for ops
-- errand: topic workers
create or replace function errand.drain_worker(worker_id bigint, reason text)
returns table (worker text, running int)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('id', drain_worker.worker_id);
    was constant jsonb := errand_internal.setting('worker', key);
begin
    perform errand_internal.check_reason('drain_worker', drain_worker.reason);
    update errand.worker as existing
    set drained_at = coalesce(existing.drained_at, now()), drained_by = session_user,
        drained_reason = drain_worker.reason
    where existing.id = drain_worker.worker_id
    returning existing.name, existing.running into worker, running;
    if not found then
        raise exception 'drain_worker: worker_id: expected one of errand.workers, got %',
            coalesce(drain_worker.worker_id::text, 'null') using errcode = 'ER404';
    end if;
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'drain_worker', jsonb_build_object('worker_id', drain_worker.worker_id, 'worker', worker),
            drain_worker.reason),
        'worker', key, was);
    return next;
end
$$;
