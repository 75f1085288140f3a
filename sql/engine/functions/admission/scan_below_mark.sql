-- scan_below_mark: lowers the marks of a limit to jobs that wait below them. Such jobs were enqueued by a transaction
-- that committed late or for a time in the past, moved to another priority, or belong to a queue that was paused or
-- slow (errand_internal.slow_queues).
--
-- Reads each index entry below the marks, including those of released jobs that a held snapshot keeps.
create or replace function errand_internal.scan_below_mark(limit_key text) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    slow constant jsonb := errand_internal.slow_queues(scan_below_mark.limit_key);
    below record;
begin
    for below in
        select near.*
        from unnest('{1,2,3,4}'::smallint[]) as level
        cross join lateral (
            select existing.run_at, existing.job_id
            from errand.limit_mark as existing
            where existing.limit_key = scan_below_mark.limit_key and existing.priority = level
            order by existing.marked_at desc
            limit 1
        ) as mark
        cross join lateral (
            select waiting.priority, waiting.run_at, waiting.id
            from errand.job as waiting
            where waiting.parked_for = 'limit:' || scan_below_mark.limit_key and waiting.priority = level
                and (waiting.run_at, waiting.id) <= (mark.run_at, mark.job_id)
                and (
                    level < least(
                        (slow ->> waiting.queue)::int, (slow ->> (waiting.queue || '/' || waiting.kind))::int)
                ) is not false
                and not exists (select from errand.queue where name = waiting.queue and paused_at is not null)
            order by waiting.run_at, waiting.id
            limit 1
        ) as near
    loop
        exit when not errand_internal.lock_limits();
        perform errand_internal.lower_mark(scan_below_mark.limit_key, below.priority, below.run_at, below.id);
    end loop;
end
$$;
