-- beat_v1: extends the leases of a process's worker ids, and tells what it has lost meanwhile.
--
-- Returns the ids that are still entered (a missing one has lost its lease: what it runs runs elsewhere), and those of the
-- given jobs that are no longer held under their line: cancelled by ops, or rescued.
create or replace function errand.beat_v1(
    worker_ids bigint[], running int, marks jsonb, job_ids bigint[], lines bigint[]
) returns table (alive bigint[], lost bigint[])
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    perform set_config('synchronous_commit', 'off', true);
    with beating as (
        update errand.worker
        set beat_at = now(), running = beat_v1.running, marks = beat_v1.marks
        where id = any (worker_ids)
        returning id
    )
    select coalesce(array_agg(id), '{}') into alive from beating;
    lost := array(
        select asked.id
        from unnest(job_ids, lines) as asked(id, line)
        left join errand.job as held
            on held.id = asked.id and held.line = asked.line and held.state = 'running'
        where held.id is null);
    return next;
end
$$;
comment on function errand.beat_v1(bigint[], int, jsonb, bigint[], bigint[]) is
    'For workers: extends leases; returns the worker ids that are alive and the jobs that are no longer theirs';
