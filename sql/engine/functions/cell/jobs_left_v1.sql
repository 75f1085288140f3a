-- jobs_left_v1: returns how many unfinished and failed jobs and schedules this cell has, so that a drained cell may go
-- when it has none.
create or replace function errand_internal.jobs_left_v1() returns bigint
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select (select count(*) from errand.job) + (select count(*) from errand.failed)
        + (select count(*) from errand.schedule) + (select count(*) from errand.outgoing)
$$;
