-- finish_moves: brings all jobs that have left a cell by a move, or by any, to where they go. Returns the number of
-- batches.
--
-- Each step is a transaction of its own on a cell: insert at the other cell, once; then confirm. So it may be killed at
-- any point and called again.
create or replace function errand_front.finish_moves(from_cell int, of_move uuid default null) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    source constant int := errand_front.partition_of(from_cell);
    leaving record;
    batches int := 0;
begin
    loop
        select * into leaving from errand_front.outgoing_at(source, of_move);
        exit when leaving.move is null;
        perform errand_front.move_in_at(
            errand_front.partition_of(leaving.to_cell), leaving.move, leaving.batch, leaving.jobs);
        perform errand_front.move_done_at(source, leaving.move, leaving.batch);
        batches := batches + 1;
    end loop;
    return batches;
end
$$;
