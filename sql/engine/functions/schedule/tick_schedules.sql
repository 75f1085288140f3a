-- tick_schedules: enqueues the jobs of all schedules that are due, and returns how many ticks it has recorded.
--
--   select cron.schedule('errand', '10 seconds', 'select errand.tick_schedules()');
--
-- `errand scheduler` does so by itself, to the second. This is for a database that is to tick without one, by pg_cron
-- or by hand. Callers don't disturb each other: each tick is recorded once. Raises ER421 if the database is a copy that
-- nobody has adopted.
-- errand: for worker, ops
-- errand: topic schedules
create or replace function errand.tick_schedules() returns int
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    recorded int := 0;
    pass record;
begin
    loop
        select due_at, coalesce(cardinality(ticks), 0) as ticks into pass from errand_internal.tick_v1();
        recorded := recorded + pass.ticks;
        exit when pass.due_at is distinct from now();
    end loop;
    return recorded;
end
$$;
