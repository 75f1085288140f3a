-- move_in_at: for errand_front.finish_moves: inserts a batch of another cell's jobs.
create or replace function errand_front.move_in_at(partition int, move uuid, batch int, jobs text) returns boolean
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on partition;
    select errand_internal.move_in_v1($2, $3, $4::errand.moving_job[]);
$$;
