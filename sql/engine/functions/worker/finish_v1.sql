-- finish_v1: moves jobs that succeeded without an output to the history. This is the common case, so it has a path of
-- its own.
--
-- The fence is the position at which the job was claimed. A job draws a new position whenever it becomes available, so
-- a late completion of an earlier attempt changes nothing. Returns the ids that were refused; the ids whose rows
-- another session has locked, to be written again a moment later; and the transaction that completed the others, by
-- which errand_internal.count_missed_completions knows them.
--
-- The position is compared through coalesce wherever a job is found by its id, so that the planner never takes
-- errand.job_position_index for it. If the last VACUUM found the queue nearly empty and an old snapshot keeps millions
-- of dead entries, the planner takes that index for as small as the table. A read of all of it for a single job takes
-- seconds.
create or replace function errand_internal.finish_v1(
    worker_id bigint, ids bigint[], positions bigint[], out refused bigint[], out locked bigint[],
    out completed_by bigint
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
    existing errand.job;
begin
    refused := '{}';
    locked := '{}';
    with ended as (
        delete from errand.job
        where id = any (ids) and worker_id = finish_v1.worker_id and state = 'running'
            -- No two jobs ever have the same position, so the pairs need not be matched one by one. As a subquery that
            -- the planner can't join they are hashed; = any (positions) would compare each job with all of them.
            and (coalesce(queue_position, 0) in (select unnest(positions))) is true
            -- No other transaction has locked the row since its claim. One that did may have ended.
            and (xmax = xmin or xmax = 0)
        returning *
    ),
    written as (
        insert into errand.history (id, :request_columns, :attempt_columns, attempts, payload, payload_day, state)
        select id, :request_columns, :attempt_columns, attempts, payload, payload_day, 'succeeded'
        from ended
        returning id
    )
    select array_agg(id) into finished from written;
    completed_by := pg_current_xact_id()::text::bigint;
    if cardinality(finished) = cardinality(ids) then
        return;
    end if;
    for existing in
        select *
        from errand.job
        where id = any (ids) and worker_id = finish_v1.worker_id and state = 'running'
            and coalesce(queue_position, 0) = any (positions)
        order by id
        for update skip locked
    loop
        perform errand_internal.move_to_history(existing, 'succeeded', null, null);
        finished := finished || existing.id;
    end loop;
    refused := array(select unnest(ids) except select unnest(finished));
    locked := array(
        select id
        from errand.job
        where id = any (refused) and worker_id = finish_v1.worker_id and state = 'running'
            and coalesce(queue_position, 0) = any (positions));
    refused := array(select unnest(refused) except select unnest(locked));
end
$$;
