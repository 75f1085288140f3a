-- undo_jobs: for errand.undo: gives jobs that are in is_in their values from before, in was_in. Both are job, failed or
-- history. since is the time from which on those in the history have ended.
--
-- errand_internal.note_jobs notes it all for the action of the undo. The batches of the jobs count them as unfinished,
-- or as without success, again. A job that waits again does so for what it waited for before
-- (errand_internal.wait_again); one that ran is available. Raises ER409 if a job has got the unique key of one of them
-- in this moment. The caller has locked the jobs, and tells those that wait for what has ended again
-- (errand_internal.parents_ended).
create or replace function errand_internal.undo_jobs(
    action_id bigint, was_in text, is_in text, ids bigint[], was jsonb[], since timestamptz
) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    -- Payloads apart from the rest: in an object, null would be no payload.
    rows jsonb[];
    payloads jsonb[];
    back bigint[];
    lock_timeout constant text := current_setting('lock_timeout');
begin
    -- The transaction id comes before the position: see errand_internal.requeue.
    perform pg_current_xact_id();
    -- It sets what the row has after it.
    perform errand_internal.note_jobs(
        action_id, undo_jobs.ids, undo_jobs.is_in, undo_jobs.was_in,
        became => array(
            select case
                when old ? 'payload' then jsonb_build_object('payload_md5', md5((old -> 'payload')::text))
                else coalesce(
                    (
                        select jsonb_object_agg(value.key, value.value)
                        from jsonb_each(old) as value
                        where value.key = any (case undo_jobs.was_in
                            when 'job' then '{run_at,queue,priority}' else '{finished_at}'::text[] end)),
                    '{}')
            end
            from unnest(undo_jobs.was) with ordinality as one(old, nth)
            order by nth));
    if undo_jobs.was_in = 'job' and undo_jobs.is_in = 'job' then
        update errand.job
        set
            queue = fresh.queue, priority = fresh.priority, run_at = fresh.run_at, state = fresh.new_state,
            parked_for = case when fresh.new_state = 'parked' then job.parked_for end,
            queue_position = case when fresh.new_state <> 'scheduled' then job.queue_position end
        from (
            select
                old.*,
                case
                    when starts_with(live.parked_for, 'job:') then live.state
                    when old.state = 'scheduled' and old.run_at > now() then 'scheduled'
                    when live.state = 'scheduled' then 'available'
                    else live.state
                end as new_state
            from unnest(undo_jobs.ids, undo_jobs.was) as asked(id, was)
            join errand.job as live on live.id = asked.id
            cross join lateral jsonb_populate_record(live, asked.was) as old
            where asked.was ? 'state'
            order by old.id) as fresh
        where job.id = fresh.id;
        -- As errand.edit_job does.
        update errand.job
        set payload = asked.was -> 'payload',
            is_handed_back = case when job.state = 'available' then true else job.is_handed_back end
        from unnest(undo_jobs.ids, undo_jobs.was) as asked(id, was)
        where job.id = asked.id and asked.was ? 'payload';
        perform errand_internal.wait_again(undo_jobs.ids, undo_jobs.was);
        return;
    elsif undo_jobs.was_in = undo_jobs.is_in then
        -- Only the payload of a failed job can have changed.
        update errand.failed
        set payload = asked.was -> 'payload'
        from unnest(undo_jobs.ids, undo_jobs.was) as asked(id, was)
        where failed.id = asked.id;
        return;
    elsif undo_jobs.is_in = 'job' then
        with gone as (
            delete from errand.job
            using unnest(undo_jobs.ids, undo_jobs.was) as asked(id, was)
            where job.id = asked.id
            returning to_jsonb(job) - 'payload' || asked.was as fresh,
                coalesce(job.payload, errand_internal.take_payload(job.payload_day, job.id)) as payload
        )
        select array_agg(fresh), array_agg(payload) into rows, payloads from gone;
    elsif undo_jobs.is_in = 'failed' then
        with gone as (
            delete from errand.failed
            using unnest(undo_jobs.ids, undo_jobs.was) as asked(id, was)
            where failed.id = asked.id
            returning to_jsonb(failed) - 'payload' || asked.was as fresh, failed.payload
        )
        select array_agg(fresh), array_agg(payload) into rows, payloads from gone;
    else
        with gone as (
            delete from errand.history as ended
            using unnest(undo_jobs.ids, undo_jobs.was) as asked(id, was)
            where ended.id = asked.id and ended.finished_at >= undo_jobs.since and ended.state = 'cancelled'
            returning to_jsonb(ended) - 'payload' || asked.was as fresh,
                coalesce(ended.payload, errand_internal.take_payload(ended.payload_day, ended.id)) as payload
        )
        select array_agg(fresh), array_agg(payload) into rows, payloads from gone;
    end if;
    if undo_jobs.was_in = 'job' then
        -- A session that is about to take one of the keys may wait for one of these jobs.
        perform set_config('lock_timeout', '100ms', true);
        begin
            with fresh as (
                select
                    job.*, asked.payload as old_payload, not (job.state = 'scheduled' and job.run_at > now()) as is_due,
                    'order:' || (job.options ->> 'order_key') as order_wait
                from unnest(rows, payloads) as asked(fresh, payload)
                cross join lateral jsonb_populate_record(null::errand.job, asked.fresh) as job
                order by job.run_at, job.id
            ),
            added as (
                insert into errand.job (
                    id, :request_columns, waiting_key, created_at, run_at, not_after, started_at, crashes, attempt,
                    attempts, payload, state, parked_for, queue_position)
                select
                    id, :request_head, case when waiting_key is null then unique_key end, :request_tail, waiting_key,
                    created_at, run_at, not_after, started_at, crashes,
                    -- That attempt was cut short.
                    case when state = 'running' then attempt - 1 else attempt end, attempts, old_payload,
                    case
                        when not is_due then 'scheduled' when order_wait is not null then 'parked' else 'available'
                    end,
                    case when is_due then order_wait end,
                    case when is_due and order_wait is null then nextval('errand.job_position') end
                from fresh
                on conflict (unique_key) where unique_key is not null do nothing
                returning id
            )
            select array_agg(id) into back from added;
        exception
            when lock_not_available then
                back := '{}';
        end;
        perform set_config('lock_timeout', lock_timeout, true);
        if coalesce(cardinality(back), 0) < cardinality(rows) then
            raise exception 'undo: jobs: expected their unique keys to be free, got one that another job has just taken'
                using errcode = 'ER409', hint = 'Call it again: it names that job.';
        end if;
        perform errand_internal.bring_back(back);
        perform errand_internal.wait_again(undo_jobs.ids, undo_jobs.was);
        return;
    elsif undo_jobs.was_in = 'failed' then
        insert into errand.failed (
            id, :request_columns, :attempt_columns, attempts, payload, finished_at, error, fingerprint)
        select
            id, :request_head, coalesce(unique_key, waiting_key), :request_tail, :attempt_columns, attempts,
            old_payload, finished_at, error, fingerprint
        from (
            select failed.*, asked.payload as old_payload
            from unnest(rows, payloads) as asked(fresh, payload)
            cross join lateral jsonb_populate_record(null::errand.failed, asked.fresh) as failed) as fresh;
        -- They are in errand.failures once.
        delete from errand.past_failure as past
        using errand.failed
        where failed.id = any (undo_jobs.ids) and past.job_id = failed.id and past.finished_at = failed.finished_at;
    else
        insert into errand.history (
            id, :request_columns, :attempt_columns, attempts, payload, finished_at, state, output, reason)
        select
            id, :request_head, coalesce(unique_key, waiting_key), :request_tail, :attempt_columns, attempts,
            old_payload, finished_at, state, output, reason
        from (
            select ended.*, asked.payload as old_payload
            from unnest(rows, payloads) as asked(fresh, payload)
            cross join lateral jsonb_populate_record(null::errand.history, asked.fresh) as ended) as fresh;
    end if;
    perform errand_internal.note_unsuccessful(
        members.ids, members.batches, case undo_jobs.was_in when 'failed' then 'failed' else 'cancelled' end)
    from (
        select array_agg((fresh ->> 'id')::bigint) as ids, array_agg((fresh #>> '{options,batch}')::bigint) as batches
        from unnest(rows) as fresh
        where fresh -> 'options' ? 'batch'
    ) as members
    where members.ids is not null;
    -- One that blocks its order key and has still its slot keeps it.
    update errand.order_slot as slot
    set blocked_at = now()
    from errand.failed
    where failed.id = any (undo_jobs.ids) and failed.options ->> 'if_head_fails' = 'block'
        and slot.order_key = failed.options ->> 'order_key' and slot.job_id = failed.id;
    perform errand_internal.order_ended(ended.keys, ended.ids)
    from (
        select array_agg(one.id) as ids, array_agg(one.row ->> 'order_key') as keys
        from (
            select (fresh ->> 'id')::bigint as id, fresh -> 'options' as row from unnest(rows) as fresh) as one
        where one.row ? 'order_key'
            and not (undo_jobs.was_in = 'failed' and one.row ->> 'if_head_fails' = 'block')
    ) as ended
    where ended.ids is not null;
end
$$;
