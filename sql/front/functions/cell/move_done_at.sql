-- move_done_at: for errand_front.finish_moves: confirms to a cell that a batch of its jobs has arrived.
create or replace function errand_front.move_done_at(partition int, move uuid, batch int) returns boolean
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on partition;
    select errand_internal.move_done_v1($2, $3);
$$;
