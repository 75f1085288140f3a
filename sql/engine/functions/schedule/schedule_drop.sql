-- schedule_drop: deletes a schedule. Its jobs and the record of its ticks stay.
--
--   select errand.schedule_drop('quote_of_the_day');
--
-- A schedule that the program defines returns at the program's next start: pause that instead. Raises ER404 for an
-- unknown schedule.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.schedule_drop(name text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    delete from errand.schedule as held where held.name = schedule_drop.name;
    if not found then
        perform errand_internal.check_known_schedule('schedule_drop', schedule_drop.name);
    end if;
    perform errand_internal.record_action('schedule_drop', jsonb_build_object('schedule', schedule_drop.name));
end
$$;
