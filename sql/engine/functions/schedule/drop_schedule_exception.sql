-- drop_schedule_exception: lets a schedule tick on a day again: errand.put_schedule_exception.
--
--   select errand.drop_schedule_exception('daily_report', current_date + 1);
--
-- Ticks of that day that are recorded as `excepted` stay so. Raises ER404 for an unknown schedule, and for a day on
-- which it ticks.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.drop_schedule_exception(name text, day date) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    existing errand.schedule;
    key constant jsonb := jsonb_build_object('name', drop_schedule_exception.name);
    was constant jsonb := errand_internal.setting('schedule', key);
begin
    select * into existing from errand.schedule as stored
    where stored.name = drop_schedule_exception.name
    for update;
    if not found then
        perform errand_internal.check_known_schedule('drop_schedule_exception', drop_schedule_exception.name);
    end if;
    if (existing.exceptions ? day::text) is not true then
        raise exception 'drop_schedule_exception: day: expected a day without ticks of %, got %',
            quote_literal(existing.name), coalesce(day::text, 'null')
            using errcode = 'ER404', hint = 'They are in errand.schedules.exceptions.';
    end if;
    update errand.schedule as stored
    set exceptions = nullif(existing.exceptions - day::text, '{}'), changed_at = now()
    where stored.name = existing.name;
    perform errand_internal.plan_schedule(existing.name);
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'drop_schedule_exception', jsonb_build_object('schedule', existing.name, 'day', day)),
        'schedule', key, was);
end
$$;
