-- finish_v1: moves jobs that succeeded, and have no guard, to the history. This is the common case, so it has a path of
-- its own, in one statement. What that leaves, errand_internal.complete_v1 completes: rows that another session has
-- locked or did lock, jobs of others, and outputs that are too large.
--
-- outputs has an element for each job; null if no job has an output. The fence is the position at which the job was
-- claimed. A job draws a new position whenever it becomes available, so a late completion of an earlier attempt changes
-- nothing. Jobs and batches that wait for these are told: errand_internal.parents_ended, order_ended, batch_moved.
-- Returns what errand_internal.complete_v1 does. completed_by is the transaction that completed the jobs, by which
-- errand_internal.count_missed_completions knows them.
--
-- The position is compared through coalesce wherever a job is found by its id, so that the planner never takes
-- errand.job_position_index for it. If the last VACUUM found the queue nearly empty and an old snapshot keeps millions
-- of dead entries, the planner takes that index for as small as the table. A read of all of it for a single job takes
-- seconds.
create or replace function errand_internal.finish_v1(
    worker_id bigint, ids bigint[], positions bigint[], outputs jsonb[], out refused bigint[], out locked bigint[],
    out completed_by bigint, out failing bigint[], out error_ids text[]
)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
-- For a row that is locked between its test and its deletion.
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
    finished bigint[];
    ordered bigint[];
    order_keys text[];
    any_in_batch boolean;
begin
    with ended as (
        delete from errand.job
        where id = any (ids) and worker_id = finish_v1.worker_id and state = 'running'
            -- No two jobs ever have the same position, so the pairs need not be matched one by one. As a subquery that
            -- the planner can't join they are hashed; = any (positions) would compare each job with all of them.
            and (coalesce(queue_position, 0) in (select unnest(positions))) is true
            -- No other transaction has locked the row since its claim. One that did may have ended.
            and (xmax = xmin or xmax = 0)
            and (outputs is null or errand_internal.output_problem(outputs[array_position(ids, id)]) is null)
        returning *
    ),
    written as (
        insert into errand.history (
            id, :request_columns, :attempt_columns, attempts, payload, payload_day, state, output)
        select
            id, :request_head, coalesce(unique_key, waiting_key), :request_tail,
            :attempt_columns, attempts, payload, payload_day, 'succeeded',
            case when outputs is not null then outputs[array_position(ids, id)] end
        from ended
        returning id, options
    )
    select
        coalesce(array_agg(id), '{}'), array_agg(id) filter (where options ? 'order_key'),
        array_agg(options ->> 'order_key') filter (where options ? 'order_key'), bool_or(options ? 'batch')
    into finished, ordered, order_keys, any_in_batch
    from written;
    if any_in_batch then
        perform errand_internal.batch_moved();
    end if;
    perform errand_internal.parents_ended(finished);
    if ordered is not null then
        perform errand_internal.order_ended(order_keys, ordered);
    end if;
    completed_by := pg_current_xact_id()::text::bigint;
    refused := '{}';
    locked := '{}';
    failing := '{}';
    error_ids := '{}';
    if cardinality(finished) < cardinality(ids) then
        select ended.refused, ended.locked, ended.failing, ended.error_ids
        into refused, locked, failing, error_ids
        from (
            select
                array_agg(id) as ids, array_agg(queue_position) as positions, array_agg('succeeded'::text) as outcomes,
                array_agg(output) as outputs
            from unnest(ids, positions, outputs) as given(id, queue_position, output)
            where id <> all (finished)
        ) as rest
        cross join lateral errand_internal.complete_v1(
            finish_v1.worker_id, rest.ids, rest.positions, rest.outcomes, null, null, rest.outputs, null,
            null) as ended;
    end if;
end
$$;
