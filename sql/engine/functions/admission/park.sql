-- park: parks waiting jobs, by their row ids, until their limits or circuits release them. Spends no attempt.
--
-- Lowers the marks of limits to them: the caller holds the lock of errand_internal.lock_limits if one waits for a
-- limit. A job whose slot went to others while it waited for a worker comes first in its queue once it is released.
create or replace function errand_internal.park(row_ids tid[], waits_for text[]) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    lowest record;
begin
    for lowest in
        with parked as (
            update errand.job
            set state = 'parked', queue_position = null, worker_id = null, parked_for = asked.parked_for,
                -- The job may be from before its kind had a limit. With the key, its completion releases the next job
                -- at once.
                limit_key = coalesce(job.limit_key, asked.limit_key),
                is_handed_back = case
                    when exists (
                        select
                        from errand.limit_slot as existing
                        where existing.job_id = job.id and existing.limit_key = asked.limit_key
                            and existing.queue_position = job.queue_position and existing.slot = 0)
                    then true
                    else job.is_handed_back
                end
            from (
                select row_id, waits, substring(waits from '^limit:(.*)$')
                from unnest(row_ids, waits_for) as one(row_id, waits)) as asked(row_id, parked_for, limit_key)
            where job.ctid = asked.row_id
            returning asked.limit_key, job.priority, job.run_at, job.id
        )
        select distinct on (limit_key, priority) *
        from parked
        where limit_key is not null
        order by limit_key, priority, run_at, id
    loop
        perform errand_internal.lower_mark(lowest.limit_key, lowest.priority, lowest.run_at, lowest.id);
    end loop;
end
$$;
