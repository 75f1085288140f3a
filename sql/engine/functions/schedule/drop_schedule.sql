-- drop_schedule: deletes a schedule. Its jobs and the record of its ticks stay.
--
--   select errand.drop_schedule('daily_report');
--
-- A schedule that the program defines returns at the program's next start: pause that instead. Raises ER404 for an
-- unknown schedule.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.drop_schedule(name text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('name', drop_schedule.name);
    was constant jsonb := errand_internal.setting('schedule', key);
begin
    delete from errand.schedule as existing where existing.name = drop_schedule.name;
    if not found then
        perform errand_internal.check_known_schedule('drop_schedule', drop_schedule.name);
    end if;
    delete from errand.schedule_plan where schedule = drop_schedule.name;
    perform errand_internal.note_setting(
        errand_internal.record_action('drop_schedule', jsonb_build_object('schedule', drop_schedule.name)),
        'schedule', key, was);
end
$$;
