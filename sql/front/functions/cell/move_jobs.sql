-- move_jobs: moves up to max_jobs waiting jobs of a queue from one cell to another, each exactly once. Returns how many
-- it took, and from where the next call goes on. errand_front.finish_moves finishes what a killed call has left.
--
-- Jobs with a unique key, a limit or a signal stay. 0 jobs means that none is left: a later call from the start takes
-- those that other sessions had locked. For errand cells move.
create or replace function errand_front.move_jobs(
    move uuid, batch int, queue text, from_cell int, to_cell int, max_jobs int default 10000,
    after_priority int default 0, after_position bigint default 0
) returns table (jobs int, last_priority int, last_position bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_front.partition_of(to_cell);
    return query
    select taken.jobs, taken.last_priority, taken.last_position
    from errand_front.move_out_at(
        errand_front.partition_of(from_cell), move, batch, queue, to_cell, max_jobs, after_priority, after_position)
        as taken;
    perform errand_front.finish_moves(from_cell, move);
end
$$;
