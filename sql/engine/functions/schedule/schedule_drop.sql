-- schedule_drop: removes a schedule. Its jobs in line and the record of its ticks stay.
--
--   select errand.schedule_drop('quote_of_the_day');
--
-- One that the program defines comes back at the program's next start: pause that instead. Raises ER404 where there is
-- no such schedule.
create or replace function errand.schedule_drop(name text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    delete from errand.schedule as held where held.name = schedule_drop.name;
    if not found then
        raise exception 'schedule_drop: there is no schedule %', quote_nullable(schedule_drop.name)
            using errcode = 'ER404';
    end if;
    perform errand.record_action('schedule_drop', jsonb_build_object('schedule', schedule_drop.name));
end
$$;
comment on function errand.schedule_drop(text) is
    'Removes the schedule; what it has enqueued stays. Example: select errand.schedule_drop(''nightly'')';
