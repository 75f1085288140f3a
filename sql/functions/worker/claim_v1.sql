-- claim_v1: takes up to max_jobs due jobs of one queue for a worker; a heap-only update, however long the table is.
--
-- marks[p] is the worker's low-water mark for priority p: the scan starts behind that line (0 is always right, only
-- slower). lanes is the order in which the priorities are read. durable = false lets the commit return before it is on
-- disk: a claim that a server crash undoes is simply claimed again.
--
-- Returns a row a job, or one row of nulls if nothing was due: high (the newest line), latest (the newest transaction id
-- given out, or this one's own) and snapshot still tell the worker what it may conclude. No row at all, and nothing to conclude, if the queue is paused or the worker has lost its lease.
create or replace function errand.claim_v1(
    queue text, kinds text[], worker_id bigint, max_jobs int, marks bigint[], lanes smallint[], durable boolean
) returns table (
    id bigint, line bigint, kind text, attempt smallint, max_attempts smallint, priority smallint,
    created_at timestamptz, run_at timestamptz, started_at timestamptz, payload jsonb, high bigint, latest bigint,
    snapshot pg_snapshot
)
-- The planner must neither scan the table nor sort: a plan made while it was empty would do both for ever. What it is
-- forbidden it prices so high that even a read of a sequence would start the JIT compiler: 90 ms a session.
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    -- A sequence that was never drawn from says 1 too.
    high bigint := (select case when is_called then last_value else 0 end from errand.job_line);
begin
    if exists (select from errand.queue where name = claim_v1.queue and paused_at is not null)
        or not exists (select from errand.worker where id = claim_v1.worker_id)
    then
        return;
    end if;
    if not durable then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    return query
    update errand.job
    set state = 'running', attempt = job.attempt + 1, started_at = now(), worker_id = claim_v1.worker_id
    where job.ctid = any (array(
        select due.ctid
        from unnest(lanes) as lane
        cross join lateral (
            select waiting.ctid
            from errand.job as waiting
            where waiting.queue = claim_v1.queue and waiting.priority = lane and waiting.line > marks[lane]
                and waiting.state = 'available' and waiting.kind = any (kinds)
            order by waiting.line
            limit max_jobs
            for update skip locked
        ) as due
        limit max_jobs))
    returning
        job.id, job.line, job.kind, job.attempt, job.max_attempts, job.priority, job.created_at, job.run_at,
        job.started_at, job.payload, high, (select errand.latest_transaction(pg_current_snapshot())),
        (select pg_current_snapshot());
    if not found then
        return query
        select null::bigint, null::bigint, null::text, null::smallint, null::smallint, null::smallint,
            null::timestamptz, null::timestamptz, null::timestamptz, null::jsonb, high,
            errand.latest_transaction(pg_current_snapshot()), pg_current_snapshot();
    end if;
end
$$;
comment on function errand.claim_v1(text, text[], bigint, int, bigint[], smallint[], boolean) is
    'For workers: takes up to max_jobs due jobs of one queue and of these kinds, in the order of lanes and lines';
