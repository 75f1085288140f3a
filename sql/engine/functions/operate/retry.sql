-- retry: makes failed and cancelled jobs available again, with all attempts to spend. Their record of past attempts
-- stays.
--
--   select * from errand.retry('{4711}', reason => 'the bucket is back');
--   select * from errand.retry(
--       array(select id from errand.jobs where state = 'failed' and kind = 'noop' limit 100));
--
-- They are due at run_at, by default now. Without run_at, a job that was cancelled before its own time gets that back.
-- A scheduled job moves to run_at. Returns a row for each id with its state before and now, nulls for an unknown id.
-- Available, parked, running and succeeded jobs stay as they are. Raises ER409 and changes nothing if another
-- unfinished job has the unique key of one of them.
-- errand: for ops
-- errand: topic retry
create or replace function errand.retry(ids bigint[], reason text default null, run_at timestamptz default null)
returns table (job_id bigint, was text, now text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    due constant timestamptz := coalesce(retry.run_at, now());
    asked constant bigint[] := array(select distinct id from unnest(ids) as id where id is not null order by id);
    states constant text[] := array(
        select errand_internal.state_of(id) from unnest(asked) with ordinality as one(id, index) order by index);
    retried bigint[] := '{}';
    existing record;
    action_id constant bigint := nextval('errand.action_id_seq');
begin
    perform errand_internal.check_time(retry.run_at, 'retry');
    -- Ended jobs first, then keys and jobs together, in the order in which all sessions lock them.
    perform from errand.failed where id = any (asked) order by id for update;
    perform from errand.history where id = any (asked) and state = 'cancelled' order by id for update;
    for existing in
        select id, coalesce(unique_key, waiting_key) as key, true as is_live
        from errand.job
        where id = any (asked) and state = 'scheduled'
        union all
        select id, unique_key, false from errand.failed where id = any (asked)
        union all
        select id, unique_key, false from errand.history where id = any (asked) and state = 'cancelled'
        order by key, id
    loop
        if existing.is_live then
            perform from errand.job where id = existing.id and state = 'scheduled' for update;
            continue when not found;
            perform errand_internal.note_jobs(action_id, array[existing.id], 'job', 'job', array[due]);
            update errand.job
            set state = case when due <= now() then 'available' else 'scheduled' end, run_at = due
            where id = existing.id;
            retried := retried || existing.id;
        else
            retried := retried || errand_internal.requeue_jobs(
                'retry', array[existing.id], array[retry.run_at], action_id);
        end if;
    end loop;
    for job_id, was in select * from unnest(asked, states) loop
        now := case when job_id = any (retried) then errand_internal.state_of(job_id) else was end;
        return next;
    end loop;
    if retried <> '{}' then
        perform errand_internal.record_action(
            'retry', jsonb_strip_nulls(jsonb_build_object('ids', retried[1:100], 'run_at', retry.run_at)), retry.reason,
            retried, action_id);
        perform errand_internal.wake();
    end if;
end
$$;
