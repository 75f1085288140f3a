-- undrain_worker: lets a drained worker claim again.
--
--   select errand.undrain_worker(17);
--
-- Does nothing if the worker is not drained. Raises ER404 for an unknown one.
-- errand: for ops
-- errand: topic workers
create or replace function errand.undrain_worker(worker_id bigint, reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.worker;
    key constant jsonb := jsonb_build_object('id', undrain_worker.worker_id);
    was constant jsonb := errand_internal.setting('worker', key);
begin
    select * into existing from errand.worker where id = undrain_worker.worker_id for update;
    if not found then
        raise exception 'undrain_worker: worker_id: expected one of errand.workers, got %',
            coalesce(undrain_worker.worker_id::text, 'null') using errcode = 'ER404';
    elsif existing.drained_at is not null then
        update errand.worker set drained_at = null, drained_by = null, drained_reason = null where id = existing.id;
        perform errand_internal.note_setting(
            errand_internal.record_action(
                'undrain_worker', jsonb_build_object('worker_id', existing.id, 'worker', existing.name),
                undrain_worker.reason),
            'worker', key, was);
        perform errand_internal.wake();
    end if;
end
$$;
