-- expect_moves: from its commit on, the front asks this cell where its jobs are. Call it before the first job moves.
create or replace function errand_front.expect_moves(from_cell int) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform errand_front.partition_of(from_cell);
    update errand_front.cell set has_moved = true where cell = from_cell and not has_moved;
end
$$;
