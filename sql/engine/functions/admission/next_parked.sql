-- next_parked: returns the parked jobs of a limit that are released next, at most `wanted`, and locks their rows.
--
-- Starts at the marks of errand_internal.mark_parked. A scan from the beginning would read the entries of released jobs
-- that a held snapshot keeps. Jobs of paused queues stay parked, and so do those that `slow`
-- (errand_internal.slow_queues) holds back. With such queues it reads `most_read` jobs of each priority.
-- errand_internal.pass_parked lets later calls begin behind them.
create or replace function errand_internal.next_parked(limit_key text, wanted int, slow jsonb, most_read int)
returns table (job_id bigint, priority smallint, run_at timestamptz)
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
    if slow <> '{}' then
        return query
        select near.id, near.priority, near.run_at
        from unnest('{1,2,3,4}'::smallint[]) as level
        cross join lateral (
            select waiting.id, waiting.priority, waiting.run_at
            from errand.job as waiting
            where waiting.ctid = any (errand_internal.parked_ahead(next_parked.limit_key, level, most_read))
                and waiting.parked_for = 'limit:' || next_parked.limit_key
                and (
                    level < least(
                        (slow ->> waiting.queue)::int, (slow ->> (waiting.queue || '/' || waiting.kind))::int)
                ) is not false
                and not exists (select from errand.queue where name = waiting.queue and paused_at is not null)
            order by waiting.run_at, waiting.id
            limit wanted
            for update skip locked
        ) as near
        limit wanted;
        return;
    end if;
    return query
    select near.id, near.priority, near.run_at
    from unnest('{1,2,3,4}'::smallint[]) as level
    left join lateral (
        select existing.run_at, existing.job_id
        from errand.limit_mark as existing
        where existing.limit_key = next_parked.limit_key and existing.priority = level
        order by existing.marked_at desc
        limit 1
    ) as mark on true
    cross join lateral (
        select waiting.id, waiting.priority, waiting.run_at
        from errand.job as waiting
        where waiting.parked_for = 'limit:' || next_parked.limit_key and waiting.priority = level
            and (waiting.run_at, waiting.id)
                > (coalesce(mark.run_at, '-infinity'), coalesce(mark.job_id, 0))
            and not exists (select from errand.queue where name = waiting.queue and paused_at is not null)
        order by waiting.run_at, waiting.id
        limit wanted
        for update skip locked
    ) as near
    limit wanted;
end
$$;
