-- move_done_v1: the third step of a move: forgets a batch that the other cell has, and remembers where its jobs are.
-- Returns whether there was one.
create or replace function errand_internal.move_done_v1(move uuid, batch int) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    with gone as (
        delete from errand.outgoing
        where outgoing.move = move_done_v1.move and outgoing.batch = move_done_v1.batch
        returning to_cell, jobs
    )
    insert into errand.moved_job (job_id, to_cell)
    select job.id, to_cell
    from gone
    cross join lateral unnest(jobs) as job
    on conflict (job_id) do update set to_cell = excluded.to_cell, moved_on = excluded.moved_on;
    return found;
end
$$;
