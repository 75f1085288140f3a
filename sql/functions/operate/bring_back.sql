-- bring_back: puts ended jobs in line again, with all their attempts to spend and their record kept.
--
-- due_at has an element for each id: when it is to run. failed and cancelled jobs only; the others, and ids that are no
-- jobs, are passed over. A last moment that has passed is lifted: who retries wants it to run. The failures stay in
-- errand.recent_errors. Returns the ids.
create or replace function errand.bring_back(ids bigint[], due_at timestamptz[]) returns bigint[]
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    back bigint[];
begin
    -- The transaction id comes before the line: see errand.requeue.
    perform pg_current_xact_id();
    with failed as (
        delete from errand.failed
        where id = any (bring_back.ids)
        returning id, created_at, priority, max_attempts, queue, kind, unique_key, payload, attempts, not_after,
            limit_key, guard, tags, traceparent, finished_at, fingerprint, error
    ),
    remembered as (
        -- As many as errand.recent_errors shows.
        insert into errand.past_failure (job_id, finished_at, queue, kind, fingerprint, error)
        select id, finished_at, queue, kind, fingerprint, error
        from failed
        order by finished_at desc
        limit 5000
    ),
    cancelled as (
        delete from errand.history
        where id = any (bring_back.ids) and state = 'cancelled'
        returning id, created_at, priority, max_attempts, queue, kind, unique_key, payload, attempts, not_after,
            limit_key, guard, tags, traceparent
    ),
    old as (
        select either.*, asked.due_at
        from (
            select
                id, created_at, priority, max_attempts, queue, kind, unique_key, payload, attempts, not_after, limit_key,
                guard, tags, traceparent
            from failed
            union all
            select * from cancelled) as either
        join unnest(bring_back.ids, bring_back.due_at) as asked(id, due_at) using (id)
        order by asked.due_at, id
    ),
    added as (
        insert into errand.job (
            id, created_at, priority, max_attempts, queue, kind, unique_key, payload, attempts, not_after, limit_key,
            guard, tags, traceparent, run_at, state, line)
        select
            id, created_at, priority, max_attempts, queue, kind, unique_key, payload, attempts,
            case when not_after > greatest(due_at, now()) then not_after end, limit_key, guard, tags, traceparent, due_at,
            case when due_at > now() then 'scheduled' else 'available' end,
            case when due_at > now() then null else nextval('errand.job_line') end
        from old
        returning id
    )
    select array_agg(id) into back from added;
    return coalesce(back, '{}');
end
$$;
comment on function errand.bring_back(bigint[], timestamptz[]) is
    'Puts failed and cancelled jobs in line again, each due at its time; returns their ids';
