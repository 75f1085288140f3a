-- check_known_schedule: raises ER404 for a name that no schedule has. The hint has similar names.
create or replace function errand_internal.check_known_schedule(action text, schedule text) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform errand_internal.check_known(
        action || ': name', 'one of errand.schedules', check_known_schedule.schedule,
        array(select name from errand.schedule));
end
$$;
