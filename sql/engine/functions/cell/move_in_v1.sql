-- move_in_v1: the second step of a move: inserts a batch of another cell's jobs, with their ids. Returns whether it
-- did: a batch that is there already changes nothing.
--
-- A job gets the last position of its queue. Parked ones wait again: their limits and circuits are
-- those of this cell.
create or replace function errand_internal.move_in_v1(move uuid, batch int, jobs errand.moving_job[]) returns boolean
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off
as $$
#variable_conflict use_column
begin
    -- The transaction id comes before the positions: see errand_internal.requeue.
    perform pg_current_xact_id();
    insert into errand.incoming (move, batch)
    values (move_in_v1.move, move_in_v1.batch)
    on conflict do nothing;
    if not found then
        return false;
    end if;
    insert into errand.job (
        id, :request_columns, created_at, run_at, not_after, attempt, crashes, attempts, payload, payload_bytes,
        queue_position, state)
    select
        id, :request_columns, created_at, run_at, not_after, attempt, crashes, attempts, payload, payload_bytes,
        case when is_due then nextval('errand.job_position') end, case when is_due then 'available' else 'scheduled' end
    from unnest(jobs);
    -- Jobs that come back.
    delete from errand.moved_job
    where job_id = any (array(select id from unnest(jobs)))
        and exists (select from errand.moved_job);
    perform errand_internal.wake();
    return true;
end
$$;
