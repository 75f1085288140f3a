-- finish_v1: moves jobs that succeeded, without an output, into the history. The common case, hence a path of its own.
--
-- The fence is the line under which the job was claimed: it is drawn anew whenever a job becomes available, so a late
-- end of an earlier attempt changes nothing. Returns the ids that were refused.
--
-- The line is compared through coalesce, here and wherever else a job is found by its id, so that it can be no reason to
-- read errand.job_line_index. Where nearly nothing waited at the last VACUUM, and an old snapshot keeps millions of dead
-- entries, the planner takes that index for as short as the table: a read of all of it for a single job, seconds.
create or replace function errand.finish_v1(worker_id bigint, ids bigint[], lines bigint[]) returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    finished bigint[];
begin
    with ended as (
        delete from errand.job
        where id = any (ids) and worker_id = finish_v1.worker_id and state = 'running'
            -- No two jobs ever have the same line, so the pairs need not be matched one by one.
            and coalesce(line, 0) = any (lines)
        returning *
    ),
    kept as (
        insert into errand.history (
            id, worker_id, created_at, run_at, started_at, priority, attempt, max_attempts, crashes, state, queue, kind,
            unique_key, payload, attempts, not_after, limit_key, guard, tags, traceparent)
        select
            id, worker_id, created_at, run_at, started_at, priority, attempt, max_attempts, crashes, 'succeeded', queue,
            kind, unique_key, payload, attempts, not_after, limit_key, guard, tags, traceparent
        from ended
        returning id
    )
    select array_agg(id) into finished from kept;
    if cardinality(finished) = cardinality(ids) then
        return '{}';
    end if;
    return array(select unnest(ids) except select unnest(finished));
end
$$;
comment on function errand.finish_v1(bigint, bigint[], bigint[]) is
    'For workers: ends jobs that succeeded without an output; returns the ids that this worker no longer held';
