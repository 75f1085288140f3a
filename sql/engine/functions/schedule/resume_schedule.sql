-- resume_schedule: resumes a paused schedule. The ticks of the pause were not missed: they give no job, and are
-- recorded as paused.
--
--   select errand.resume_schedule('daily_report');
--
-- Does nothing if the schedule is not paused. Raises ER404 for an unknown schedule.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.resume_schedule(name text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('name', resume_schedule.name);
    was constant jsonb := errand_internal.setting('schedule', key);
begin
    update errand.schedule as existing
    set
        paused_at = null, paused_reason = null, last_tick = greatest(existing.last_tick, now()), last_local = null,
        changed_at = now()
    where existing.name = resume_schedule.name and existing.paused_at is not null;
    if found then
        perform errand_internal.plan_schedule(resume_schedule.name);
        perform errand_internal.note_setting(
            errand_internal.record_action('resume_schedule', jsonb_build_object('schedule', resume_schedule.name)),
            'schedule', key, was);
    else
        perform errand_internal.check_known_schedule('resume_schedule', resume_schedule.name);
    end if;
end
$$;
