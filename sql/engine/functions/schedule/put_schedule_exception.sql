-- put_schedule_exception: lets a schedule have no tick on a day of its own clock, or gives that day another reason.
--
--   select errand.put_schedule_exception('daily_report', current_date + 1, 'closed');
--
-- Its ticks of that day get no job: errand.schedule_ticks shows them as `excepted`, with the reason, and
-- errand.preview_schedule before. They don't count as missed. A schedule has at most 100 such days to come; those that
-- have passed are forgotten. Raises ER404 for an unknown schedule, ER422 without a reason, for a day that has passed,
-- and for one day too many.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.put_schedule_exception(name text, day date, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    existing errand.schedule;
    today date;
    days jsonb;
    key constant jsonb := jsonb_build_object('name', put_schedule_exception.name);
    was constant jsonb := errand_internal.setting('schedule', key);
begin
    perform errand_internal.check_reason('put_schedule_exception', reason);
    select * into existing from errand.schedule as stored
    where stored.name = put_schedule_exception.name
    for update;
    if not found then
        perform errand_internal.check_known_schedule('put_schedule_exception', put_schedule_exception.name);
    end if;
    today := (now() at time zone existing.time_zone)::date;
    if day is null or day not between today and today + 3660 then
        raise exception 'put_schedule_exception: day: expected % to %, got %', today, today + 3660,
            coalesce(day::text, 'null') using errcode = 'ER422';
    end if;
    select jsonb_object_agg(listed.key, listed.value)
    into days
    from jsonb_each(existing.exceptions || jsonb_build_object(day, reason)) as listed
    where listed.key::date >= today;
    days := coalesce(days, jsonb_build_object(day, reason));
    if (select count(*) from jsonb_object_keys(days)) > 100 then
        raise exception 'put_schedule_exception: day: expected at most 100 days to come, got another'
            using errcode = 'ER422';
    end if;
    update errand.schedule as stored set exceptions = days, changed_at = now() where stored.name = existing.name;
    perform errand_internal.plan_schedule(existing.name);
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'put_schedule_exception', jsonb_build_object('schedule', existing.name, 'day', day), reason),
        'schedule', key, was);
end
$$;
