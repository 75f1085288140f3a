-- pause_schedule: pauses a schedule until errand.resume_schedule: it enqueues nothing. Its jobs stay in the queue.
--
--   select errand.pause_schedule('daily_report', 'the mail server moves');
--
-- Its ticks are recorded as paused meanwhile. Raises ER422 without a reason, ER404 for an unknown schedule.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.pause_schedule(name text, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('name', pause_schedule.name);
    was constant jsonb := errand_internal.setting('schedule', key);
begin
    perform errand_internal.check_reason('pause_schedule', pause_schedule.reason);
    update errand.schedule as existing
    set
        paused_at = coalesce(existing.paused_at, now()), paused_reason = reason, next_tick = null,
        changed_at = now()
    where existing.name = pause_schedule.name;
    if not found then
        perform errand_internal.check_known_schedule('pause_schedule', pause_schedule.name);
    end if;
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'pause_schedule', jsonb_build_object('schedule', pause_schedule.name), pause_schedule.reason),
        'schedule', key, was);
end
$$;
