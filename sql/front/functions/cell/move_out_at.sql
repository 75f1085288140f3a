-- move_out_at: for errand_front.move_jobs: takes a batch of waiting jobs out of a cell.
create or replace function errand_front.move_out_at(
    partition int, move uuid, batch int, queue text, to_cell int, max_jobs int, after_priority int,
    after_position bigint
) returns table (jobs int, last_priority int, last_position bigint)
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on partition;
    select taken.* from errand_internal.move_out_v1($2, $3, $4, $5, $6, $7, $8) as taken;
$$;
