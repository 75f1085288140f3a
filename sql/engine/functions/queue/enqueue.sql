-- enqueue: enqueues one job in the caller's transaction. The job exists if and when that transaction commits.
--
--   select * from errand.enqueue('image_compression', '{"photo": "6c1d…"}');
--   select * from errand.enqueue('noop', run_at => now() + interval '1 hour', unique_key => 'hourly');
--   select * from errand.enqueue('noop', unique_key => 'hourly', on_conflict => 'reschedule', run_at => now());
--
-- Queue, priority, max_attempts and limit_key default to the values that a worker registered for the kind, else to
-- 'default', 2, 10 and none. run_at is at most 10 years away. not_after is the latest start: after it the job is
-- obsolete. guard is a name in errand.guard, called before the job starts and again at its completion. limit_key: see
-- errand.set_limit. subject is the user whose job it is: people.erase cancels
-- and blanks the jobs with that subject, and no others. options has what only the job's worker reads, as
-- {"traceparent": "00-…"}: errand_internal.check_options.
--
-- If an unfinished job has the unique_key, nothing is inserted and that job is returned. A waiting job whose not_after
-- has passed becomes obsolete instead, and its key is free. on_conflict says more:
--   keep        it stays as it is
--   replace     it gets the arguments of this call and all attempts to spend; its id and its past attempts stay
--   reschedule  it moves to run_at (default: now), and keeps all else
--   error       raises ER409
-- A running job stays as it is in any case: the returned state says so.
--
-- Raises ER422, ER413 and ER404 as errand_internal.check_job and errand_internal.check_options do.
-- errand: for enqueuer, worker, ops
-- errand: topic enqueue
create or replace function errand.enqueue(
    kind text,
    payload jsonb default '{}',
    queue text default null,
    run_at timestamptz default null,
    priority int default null,
    max_attempts int default null,
    unique_key text default null,
    not_after timestamptz default null,
    on_conflict text default 'keep',
    limit_key text default null,
    guard text default null,
    tags text[] default null,
    subject text default null,
    options jsonb default null
) returns table (job_id bigint, inserted boolean, state text)
-- A plan from when the table was empty would read all of it forever.
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    defaults errand.kind;
    due timestamptz := coalesce(enqueue.run_at, now());
    target text := case when due > now() then 'scheduled' else 'available' end;
    waits_for text;
begin
    perform errand_internal.check_job(
        enqueue.kind, enqueue.payload, enqueue.queue, enqueue.priority, enqueue.max_attempts, enqueue.unique_key);
    perform errand_internal.check_time(enqueue.run_at);
    if on_conflict is distinct from 'keep'
        or num_nonnulls(not_after, enqueue.limit_key, enqueue.guard, tags, enqueue.subject, enqueue.options) > 0
    then
        perform errand_internal.check_options(
            enqueue.run_at, not_after, enqueue.unique_key, on_conflict, enqueue.limit_key, enqueue.guard, tags,
            enqueue.subject, enqueue.options);
    end if;
    select * into defaults from errand.kind where name = enqueue.kind;
    if target = 'available' and coalesce(enqueue.limit_key, defaults.limit_key) is not null
        and errand_internal.limit_is_full(coalesce(enqueue.limit_key, defaults.limit_key))
    then
        target := 'parked';
        waits_for := 'limit:' || coalesce(enqueue.limit_key, defaults.limit_key);
    end if;
    -- The transaction id comes before the position: see errand_internal.requeue.
    perform pg_current_xact_id();
    loop
        return query
        insert into errand.job (
            queue, kind, payload, run_at, state, queue_position, priority, max_attempts, unique_key, not_after,
            limit_key, guard, tags, subject, options, parked_for)
        values (
            coalesce(enqueue.queue, defaults.queue, 'default'), enqueue.kind,
            case when pg_column_size(enqueue.payload) <= 2000 then enqueue.payload end, due, target,
            case when target = 'available' then nextval('errand.job_position') end,
            coalesce(enqueue.priority, defaults.priority, 2), coalesce(enqueue.max_attempts, defaults.max_attempts, 10),
            enqueue.unique_key, nullif(enqueue.not_after, 'infinity'), coalesce(enqueue.limit_key, defaults.limit_key),
            enqueue.guard, nullif(enqueue.tags[:], '{}'), enqueue.subject,
            nullif(jsonb_strip_nulls(enqueue.options), '{}'), waits_for)
        on conflict (unique_key) where unique_key is not null do nothing
        returning id, true, job.state;
        if found and pg_column_size(enqueue.payload) > 2000 then
            perform errand_internal.store_payloads(array[currval('errand.job_id_seq')], array[enqueue.payload]);
            exit;
        end if;
        exit when found;
        continue when errand_internal.free_key(enqueue.unique_key);
        if on_conflict = 'replace' then
            return query
            update errand.job
            set queue = coalesce(enqueue.queue, defaults.queue, 'default'), kind = enqueue.kind,
                payload = enqueue.payload, run_at = due, state = target,
                queue_position = case when target = 'available' then job.queue_position end,
                priority = coalesce(enqueue.priority, defaults.priority, 2), attempt = 0, crashes = 0,
                max_attempts = coalesce(enqueue.max_attempts, defaults.max_attempts, 10),
                not_after = nullif(enqueue.not_after, 'infinity'),
                limit_key = coalesce(enqueue.limit_key, defaults.limit_key),
                guard = enqueue.guard, tags = nullif(enqueue.tags[:], '{}'), subject = enqueue.subject,
                options = nullif(jsonb_strip_nulls(enqueue.options), '{}'), parked_for = waits_for
            where unique_key = enqueue.unique_key and job.state <> 'running'
            returning id, false, job.state;
        elsif on_conflict = 'reschedule' then
            return query
            update errand.job
            set run_at = due,
                -- A job that waits for a limit or a circuit goes on waiting for it if it is due. The claim checks
                -- its own limit, which this call doesn't name.
                state = case
                    when due > now() then 'scheduled'
                    when job.state = 'parked' then 'parked'
                    else 'available'
                end,
                queue_position = case when due <= now() then job.queue_position end,
                parked_for = case when due <= now() then job.parked_for end
            where unique_key = enqueue.unique_key and job.state <> 'running'
            returning id, false, job.state;
        end if;
        exit when found;
        return query
        select id, false, job.state
        from errand.job
        where unique_key = enqueue.unique_key;
        if found and on_conflict = 'error' then
            raise exception 'enqueue: unique_key: expected one that no unfinished job has, got that of job %',
                (select id from errand.job where unique_key = enqueue.unique_key)
                using errcode = 'ER409', hint = 'The key is free again when that job has ended.';
        end if;
        -- Neither inserted nor found: the job with this key ended in between, so the key is free now.
        exit when found;
    end loop;
    -- Only an insert wakes workers by itself.
    if on_conflict in ('replace', 'reschedule') and due <= now() then
        perform errand_internal.wake();
    end if;
end
$$;
