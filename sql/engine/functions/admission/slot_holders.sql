-- slot_holders: returns the jobs that have got a slot of a limit and still have the position of then.
--
-- No position is drawn twice. A job that has ended, was rescued or parked no longer has the position of its slot, so no
-- job has to return a slot and no crash leaks one. state is one of:
--
-- - running: it holds the slot.
-- - released: it got the slot within the last second, and holds it.
-- - waiting: no worker has claimed it within a second, and it holds nothing. Its queue may be long, paused or without
--   room in its rate. It stays there, and asks for a slot again when a claim meets it.
--
-- The row of a waiting job whose slot another job has got since has the slot 0.
--
-- Reads the newest row of each slot, however many older ones a held snapshot keeps: 2 us a slot.
create or replace function errand_internal.slot_holders(limit_key text)
returns table (slot int, state text, queue text, kind text, priority smallint)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
    return query
    select
        existing.slot,
        case
            when holder.state = 'running' then 'running'
            when existing.slot > 0
                -- Or in this transaction: a claim that takes longer starts its jobs at its end.
                and existing.admitted_at >= least(now(), clock_timestamp() - interval '1 second')
                and existing.admitted_at <= clock_timestamp()
                then 'released'
            else 'waiting'
        end,
        holder.queue,
        holder.kind,
        holder.priority
    from (
        select newest.*
        from generate_series(1, errand_internal.highest_slot(slot_holders.limit_key)) as number
        cross join lateral (
            select newest.*
            from errand.limit_slot as newest
            where newest.limit_key = slot_holders.limit_key and newest.slot = number
            order by newest.admitted_at desc
            limit 1
        ) as newest
        union all
        select newest.* from errand.limit_slot as newest where newest.limit_key = slot_holders.limit_key
            and newest.slot = 0
    ) as existing
    -- One by one: a join might read all of errand.job.
    cross join lateral (
        select job.state, job.queue, job.priority, job.kind, job.limit_key
        from errand.job
        where job.id = existing.job_id and coalesce(job.queue_position, 0) = existing.queue_position
        limit 1
    ) as holder
    -- It may have been replaced by one with another key. Jobs from before their kind's registration don't name its
    -- limit.
    where coalesce(
            holder.limit_key, (select kind.limit_key from errand.kind where kind.name = holder.kind)
        ) = slot_holders.limit_key;
end
$$;
