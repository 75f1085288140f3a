-- requeue_jobs: makes ended jobs available again, with all attempts to spend. Their record of past attempts stays.
--
-- due_at has an element for each id: when the job is to run. Null is now, or the job's own time if it was cancelled
-- before that. Only failed and cancelled jobs are changed; other ids are ignored. A last moment that has passed is
-- removed. The failures stay in errand.failures. Returns the ids. Raises ER409, with context in front, if an
-- unfinished job has the unique key of one of them; an expired one becomes obsolete. A job that has its key only while
-- it waits comes back without it then: errand_internal.regain_keys. A job that waits for others waits for them again
-- (errand_internal.begin_wait), and its batch for it (errand_internal.bring_back). One that blocks its order key is the
-- first of it; others take their places again: errand_internal.begin_order. errand_internal.note_jobs notes all for the
-- action.
create or replace function errand_internal.requeue_jobs(
    context text, ids bigint[], due_at timestamptz[], action_id bigint default null
) returns bigint[]
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    ended bigint[];
    back bigint[];
    keyless bigint[];
    keys text[];
    taken bigint;
    one record;
    has_failed boolean;
    has_cancelled boolean;
begin
    -- The transaction id comes before the position: see errand_internal.requeue.
    perform pg_current_xact_id();
    -- In the order in which all sessions lock jobs.
    perform from errand.failed where id = any (requeue_jobs.ids) order by id for update;
    has_failed := found;
    perform from errand.history where id = any (requeue_jobs.ids) and state = 'cancelled' order by id for update;
    has_cancelled := found;
    keys := array(
        select (
            select unique_key from errand.failed where failed.id = asked.id
            union all
            select unique_key from errand.history where history.id = asked.id and state = 'cancelled'
            limit 1)
        from unnest(requeue_jobs.ids) with ordinality as asked(id, index)
        order by index);
    if cardinality(requeue_jobs.ids) = 1 then
        perform errand_internal.free_key(keys[1]);
    elsif exists (select from errand.job where unique_key = any (keys) and errand_internal.is_expired(job)) then
        -- One by one, in the order in which all sessions lock keys and jobs.
        for one in
            select asked.*
            from unnest(requeue_jobs.ids, requeue_jobs.due_at, keys) as asked(id, due_at, key)
            order by key, id
        loop
            back := back || errand_internal.requeue_jobs(context, array[one.id], array[one.due_at], action_id);
        end loop;
        return coalesce(back, '{}');
    end if;
    if has_failed then
        perform errand_internal.note_jobs(action_id, requeue_jobs.ids, 'failed', 'job', requeue_jobs.due_at);
    end if;
    if has_cancelled then
        perform errand_internal.note_jobs(action_id, requeue_jobs.ids, 'history', 'job', requeue_jobs.due_at);
    end if;
    with failed as (
        delete from errand.failed where id = any (requeue_jobs.ids) returning *
    ),
    remembered as (
        -- As many as errand.failures shows.
        insert into errand.past_failure (job_id, finished_at, queue, kind, fingerprint, error, became, subject)
        select id, finished_at, queue, kind, fingerprint, error, 'retried', subject
        from failed
        order by finished_at desc
        limit 5000
    ),
    cancelled as (
        delete from errand.history where id = any (requeue_jobs.ids) and state = 'cancelled' returning *
    ),
    old as (
        select either.*, coalesce(asked.due_at, greatest(either.own_time, now())) as due_at
        from (
            select id, :request_columns, waiting_key, created_at, not_after, attempts, payload,
                null::timestamptz as own_time
            from failed
            union all
            select
                id, :request_columns, waiting_key, created_at, not_after, attempts,
                coalesce(payload, errand_internal.take_payload(payload_day, id)), run_at
            from cancelled) as either
        join unnest(requeue_jobs.ids, requeue_jobs.due_at) as asked(id, due_at) using (id)
        order by due_at, id
    ),
    placed as (
        select
            *,
            case
                when due_at <= now() and (options ? 'order_key') is not true then nextval('errand.job_position')
            end as queue_position,
            case
                when due_at <= now() and options ? 'order_key' then 'order:' || (options ->> 'order_key')
            end as parked_for,
            case when waiting_key is null then unique_key end as kept_key
        from old
    ),
    added as (
        insert into errand.job (
            id, :request_columns, waiting_key, created_at, attempts, payload, not_after, run_at, state, queue_position,
            parked_for)
        select
            id, :request_head, kept_key, :request_tail, waiting_key, created_at, attempts, payload,
            case when not_after > greatest(due_at, now()) then not_after end, due_at,
            case
                when parked_for is not null then 'parked' when queue_position is null then 'scheduled'
                else 'available'
            end,
            queue_position, parked_for
        from placed
        -- In one order for all sessions, as in errand.enqueue_many.
        order by kept_key, queue_position
        on conflict (unique_key) where unique_key is not null do nothing
        returning id, waiting_key
    )
    select
        (select array_agg(id) from old), array_agg(id), array_agg(id) filter (where waiting_key is not null)
    into ended, back, keyless
    from added;
    if keyless is not null then
        perform errand_internal.regain_keys(keyless);
    end if;
    select min(id) into taken from unnest(ended) as id where id <> all (coalesce(back, '{}'));
    if taken is not null then
        raise exception '%: job %: expected its unique_key to be free, got another unfinished job with it', context,
            taken
            using errcode = 'ER409', hint = 'select * from errand.explain(' || taken || ') names that job.';
    end if;
    -- The callback of an earlier attempt: it would count for the next one of that number.
    update errand.job
    set options = options - 'signal'
    where id = any (back) and starts_with(options #>> '{signal,name}', 'callback/');
    perform errand_internal.bring_back(members.ids)
    from (select array_agg(id) as ids from errand.job where id = any (back) and options ? 'batch') as members
    where members.ids is not null;
    -- They block their order keys no longer, and keep their slots.
    update errand.order_slot as slot
    set blocked_at = null
    from errand.job
    where job.id = any (back) and slot.order_key = job.options ->> 'order_key' and slot.job_id = job.id;
    perform errand_internal.begin_wait(waiting.ids)
    from (select array_agg(id) as ids from errand.job where id = any (back) and options ? 'after') as waiting
    where waiting.ids is not null;
    perform errand_internal.begin_order(ordered.ids)
    from (
        select array_agg(id) as ids from errand.job where id = any (back) and options ? 'order_key'
    ) as ordered
    where ordered.ids is not null;
    perform errand_internal.wake();
    return coalesce(back, '{}');
end
$$;
