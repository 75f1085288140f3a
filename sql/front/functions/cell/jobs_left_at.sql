-- jobs_left_at: for errand_front.drop_cell: returns how many unfinished and failed jobs and schedules a cell has.
create or replace function errand_front.jobs_left_at(partition int) returns bigint
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on partition;
    select errand_internal.jobs_left_v1();
$$;
