-- schedule_pause: pauses a schedule until errand.schedule_resume: it enqueues nothing. Its jobs stay in the queue.
--
--   select errand.schedule_pause('quote_of_the_day', 'the quotes are being translated');
--
-- Its ticks are recorded as paused meanwhile. Raises ER422 without a reason, ER404 for an unknown schedule.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.schedule_pause(name text, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_reason('schedule_pause', schedule_pause.reason);
    update errand.schedule as held
    set
        paused_at = coalesce(held.paused_at, now()), paused_reason = reason, next_tick = null,
        version = held.version + 1, changed_at = now()
    where held.name = schedule_pause.name;
    if not found then
        perform errand_internal.check_known_schedule('schedule_pause', schedule_pause.name);
    end if;
    perform errand_internal.record_action(
        'schedule_pause', jsonb_build_object('schedule', schedule_pause.name), schedule_pause.reason);
end
$$;
