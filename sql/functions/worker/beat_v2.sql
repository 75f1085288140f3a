-- beat_v2: extends the leases of a process's worker ids, and tells what it has lost meanwhile.
--
-- Returns the ids that are still entered, and those of the given jobs that are no longer held under their line: cancelled by
-- ops, or rescued. An id that is missing has lost its lease: what it runs runs elsewhere. In a copy that nobody has adopted
-- all ids are missing. published is, for each queue, how far the marks of other live workers of the same kinds are, or {}:
-- who claims seldom would else read over all that they have done since. It asks the 20 that were heard last, so that a
-- beat's cost has a bound.
create or replace function errand.beat_v2(
    worker_ids bigint[], running int, marks jsonb, job_ids bigint[], lines bigint[]
) returns table (alive bigint[], lost bigint[], published jsonb)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    perform set_config('synchronous_commit', 'off', true);
    with beating as (
        update errand.worker
        set beat_at = now(), running = beat_v2.running, marks = beat_v2.marks
        where id = any (worker_ids) and errand.is_home()
        returning id
    )
    select coalesce(array_agg(id), '{}') into alive from beating;
    lost := array(
        select asked.id
        from unnest(job_ids, lines) as asked(id, line)
        -- No join: what errand.finish_v1 says of the planner would have it read all of an index here too.
        where (
            select held.line from errand.job as held where held.id = asked.id and held.state = 'running'
        ) is distinct from asked.line);
    select coalesce(jsonb_object_agg(queue, best), '{}') into published
    from (
        select queue, jsonb_agg(mark order by priority) as best
        from (
            select queue, priority, max(mark::bigint) as mark
            from (
                select other.marks
                from errand.worker as own
                join errand.worker as other
                    on other.kinds @> own.kinds and other.id <> all (worker_ids) and other.beat_at > now() - other.lease
                where own.id = worker_ids[1]
                order by other.beat_at desc
                limit 20) as near
            cross join lateral jsonb_each(near.marks) as line(queue, marks)
            cross join lateral jsonb_array_elements_text(line.marks) with ordinality as entry(mark, priority)
            group by queue, priority) as furthest
        group by queue) as line;
    return next;
end
$$;
comment on function errand.beat_v2(bigint[], int, jsonb, bigint[], bigint[]) is
    'For workers: extends leases; returns the worker ids that are alive, the jobs that are no longer theirs, others'' marks';
