-- schedule_on_all: for errand_front.partition_of_schedule: returns the cells that have a schedule of this name.
create or replace function errand_front.schedule_on_all(schedule text) returns setof int
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on all;
    select errand.cell() from errand.schedules as existing where existing.name = schedule;
$$;
