-- taken_slots: returns the slots of a limit whose jobs run or wait in the queue.
--
-- No position is drawn twice. A job that has ended, was rescued or parked no longer has the position of its slot, so no
-- job has to return a slot and no crash leaks one. A job in the queue keeps its slot however long the queue is. If no
-- worker may claim it, for example in a paused queue, it keeps the slot for 5 s.
--
-- Reads the newest row of each slot, however many older ones a held snapshot keeps: 2 us a slot.
create or replace function errand.taken_slots(limit_key text) returns table (slot int, is_running boolean)
language sql stable set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
    select newest.slot, holder.state = 'running'
    from generate_series(1, errand.highest_slot(taken_slots.limit_key)) as number
    cross join lateral (
        select known.*
        from errand.limit_slot as known
        where known.limit_key = taken_slots.limit_key and known.slot = number
        order by known.admitted_at desc
        limit 1
    ) as newest
    -- One by one: a join might read all of errand.job.
    cross join lateral (
        select job.state, job.queue, job.kind
        from errand.job
        where job.id = newest.job_id and coalesce(job.queue_position, 0) = newest.queue_position
        limit 1
    ) as holder
    where holder.state = 'running'
        or newest.admitted_at > clock_timestamp() - interval '5 seconds'
        or errand.may_be_claimed(holder.queue, holder.kind)
$$;
comment on function errand.taken_slots(text) is 'Returns the slots of a limit whose jobs run or wait in the queue';
