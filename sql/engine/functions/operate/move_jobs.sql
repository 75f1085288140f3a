-- move_jobs: gives waiting jobs another queue, priority or time, in the order of `ids`. Null keeps the old value.
--
-- due_at has an element for each id; null keeps the job's time. A job that is due then becomes scheduled if that is
-- later than now, and available if it was scheduled. One that waits for others goes on waiting for them. A job with an
-- order key keeps its order. errand_internal.requeue draws the positions, in the order of `ids`. The caller has locked
-- the rows. errand_internal.note_jobs notes them for the action.
create or replace function errand_internal.move_jobs(
    ids bigint[], due_at timestamptz[], queue text, priority int, action_id bigint
) returns void
language plpgsql
-- A nested loop with the ids outside keeps their order.
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
    perform errand_internal.note_jobs(
        action_id, move_jobs.ids, 'job', 'job', move_jobs.due_at,
        array_fill(
            jsonb_strip_nulls(jsonb_build_object('queue', move_jobs.queue, 'priority', move_jobs.priority)),
            array[cardinality(move_jobs.ids)]));
    -- The transaction id comes before the position: see errand_internal.requeue.
    perform pg_current_xact_id();
    update errand.job
    set
        queue = coalesce(move_jobs.queue, job.queue),
        priority = coalesce(move_jobs.priority, job.priority),
        run_at = coalesce(moved.due_at, job.run_at),
        state = case
            when starts_with(job.parked_for, 'job:') then job.state
            when moved.due_at > now() then 'scheduled'
            when moved.due_at is not null and job.state = 'scheduled' then 'available'
            else job.state
        end,
        parked_for = case
            when (moved.due_at > now()) is not true or starts_with(job.parked_for, 'job:') then job.parked_for
        end,
        queue_position = case when (moved.due_at > now()) is not true then job.queue_position end
    from unnest(move_jobs.ids, move_jobs.due_at) as moved(id, due_at)
    where job.id = moved.id;
end
$$;
