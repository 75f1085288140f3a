-- undo_until: returns until when errand.undo takes an action back: for 7 days. Null if it can't be undone.
-- errand: for ops, monitor
create or replace function errand_internal.undo_until(action errand.action) returns timestamptz
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select action.done_at + interval '7 days'
    where action.action = any (
        '{cancel,cancel_where,discard,discard_where,retry,retry_where,reschedule,reschedule_where,edit_job,start_bulk,
        undo,batch_cancel,batch_retry,set_limit,set_rate,set_key_rate,set_retention,pause_queue,resume_queue,pause_kind,
        resume_kind,circuit_open,circuit_close,drain_worker,undrain_worker,put_schedule,drop_schedule,pause_schedule,
        resume_schedule,put_schedule_exception,drop_schedule_exception}'::text[])
$$;
