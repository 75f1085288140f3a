-- note_schedules_v1: puts on record that a scheduler has looked at the schedules. Once a minute, by each scheduler.
create or replace function errand.note_schedules_v1(schedules int) returns void
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    select errand.note_duty('schedule', now(), format('%s schedules', schedules))
$$;
comment on function errand.note_schedules_v1(int) is
    'For the scheduler: puts on record that it has looked at the schedules';
