-- outgoing_at: for errand_front.finish_moves: returns the first batch of jobs that left a cell by a move, or by any,
-- until it is confirmed.
create or replace function errand_front.outgoing_at(partition int, of_move uuid)
returns table (move uuid, batch int, to_cell int, jobs text)
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on partition;
    select leaving.* from errand_internal.outgoing_v1($2) as leaving;
$$;
