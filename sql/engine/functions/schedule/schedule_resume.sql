-- schedule_resume: resumes a paused schedule. The ticks of the pause were not missed: they give no job, and are
-- recorded as paused.
--
--   select errand.schedule_resume('quote_of_the_day');
--
-- Does nothing if the schedule is not paused. Raises ER404 for an unknown schedule.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.schedule_resume(name text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    update errand.schedule as held
    set
        paused_at = null, paused_reason = null, last_tick = greatest(held.last_tick, now()),
        version = held.version + 1, changed_at = now()
    where held.name = schedule_resume.name and held.paused_at is not null;
    if found then
        perform errand_internal.record_action('schedule_resume', jsonb_build_object('schedule', schedule_resume.name));
    else
        perform errand_internal.check_known_schedule('schedule_resume', schedule_resume.name);
    end if;
end
$$;
