-- enqueue: enqueues one job in the caller's transaction. The job exists if and when that transaction commits.
--
--   select * from errand.enqueue('image_compression', '{"photo": "6c1d…"}');
--   select * from errand.enqueue('noop', run_at => now() + interval '1 hour', unique_key => 'hourly');
--   select * from errand.enqueue('noop', unique_key => 'hourly', on_conflict => 'reschedule', run_at => now());
--   select * from errand.enqueue('welcome_mail', '{"user": 7}', unique_key => 'welcome/7', unique_for => '1 day');
--
-- Queue, priority, max_attempts, limit_key, rate_key, order_key and if_head_fails default to the values that a worker
-- registered for the kind, else to those of kind_defaults, as {"queue": "mail", "max_attempts": 3}, else to 'default',
-- 2, 10 and none. run_at is at most 10 years away. not_after is the latest start: after it the job is obsolete. guard
-- is a name in errand.guard, called before the job starts and again at its completion. limit_key: see errand.set_limit;
-- rate_key: see errand.set_key_rate. subject is the user whose job it is: people.erase cancels and blanks the jobs with
-- that subject, and no others. options has what only the job's worker reads, as {"traceparent": "00-…"}:
-- errand_internal.check_options. With follow => true the job is the login's own, which then may see it, wait for it and
-- cancel it: errand.job, errand.ended, errand.cancel_own.
--
-- after has the ids of up to 1,000 jobs that have to succeed first: until then the job is parked. If one of them fails
-- for good, is cancelled or becomes obsolete, if_parent_fails says what becomes of the job:
--   wait     it waits on, as that job may be retried
--   go_on    it starts all the same, once the others have ended
--   cancel   it is cancelled
-- Its worker may read their outputs: errand.parents.
--
-- batch makes the job one of a batch: errand.batch_open. A job that was there before isn't added.
--
-- Jobs with the same order_key run one after the other, in the order of their ids, whatever their queues and
-- priorities: one starts once those before it have ended. It is parked until then. A job keeps its place over retries
-- and snoozes; one that is scheduled takes its place when it is due. If it fails for good, if_head_fails says what
-- becomes of those behind it:
--   block  (the default, unless the kind has another) they wait until it is retried or discarded: errand.blocked_keys
--   go_on  the next one starts
--
-- If an unfinished job has the unique_key, nothing is inserted and that job is returned. A waiting job whose not_after
-- has passed becomes obsolete instead, and its key is free. on_conflict says more:
--   keep        it stays as it is
--   replace     it gets the arguments of this call and all attempts to spend; its id and its past attempts stay
--   reschedule  it moves to run_at (default: now), and keeps all else. With no_later_than (up to 1 year) that is at
--               most so long after its own enqueue, however often it is moved
--   merge       its payload gets the fields, or the elements, of this one, and it keeps all else
--   supersede   as replace; a running job is cancelled, and this one is inserted
--   error       raises ER409
-- Otherwise a running job stays as it is: the returned state says so.
--
-- unique_while says when a job has its key: unfinished (the default), or waiting: a worker that starts the job frees
-- the key, and what is enqueued then is a new job. A job that waits again after that has the key unless another one has
-- it by then. merge and no_later_than imply it. unique_for (up to 1 year) keeps the key for that time from the enqueue
-- on, even once the job has ended, against calls with unique_for. It ends if the job is cancelled or discarded. If the
-- job is no longer on record, its state is returned as ended.
--
-- A NOTICE tells that no live worker takes the kind, as maintenance has found within 10 s: the job is enqueued.
--
-- Raises ER422, ER413 and ER404 as errand_internal.check_job, errand_internal.check_options,
-- errand_internal.check_uniqueness, errand_internal.merged_payload, errand_internal.check_parents and
-- errand_internal.join_batch do.
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
    options jsonb default null,
    follow boolean default false,
    kind_defaults jsonb default null,
    after bigint[] default null,
    if_parent_fails text default 'wait',
    rate_key text default null,
    unique_for interval default null,
    unique_while text default null,
    no_later_than interval default null,
    order_key text default null,
    if_head_fails text default null,
    batch bigint default null,
    out job_id bigint,
    out inserted boolean,
    out state text
)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    -- As text: workers receive it so. Null if it is large, even if its compressed form is not.
    bytes constant int := case when pg_column_size(payload) <= 2000 then octet_length(payload::text) end;
    -- Before the position is drawn: see errand_internal.requeue.
    transaction constant xid8 := pg_current_xact_id();
begin
    -- The bounds of errand_internal.check_job as one expression: a call for each job takes 30 us. The function is
    -- called for a value out of bounds, for a key and for a large payload.
    if (
        length(enqueue.kind) <= 100 and enqueue.kind ~ '^[a-z][a-z0-9_.-]*$' and bytes <= 262144
        and (bytes < 130
            or not jsonb_path_exists(payload, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")'))
        and (enqueue.queue is null or length(enqueue.queue) <= 100 and enqueue.queue ~ '^[a-z][a-z0-9_.-]*$')
        and (enqueue.priority is null or enqueue.priority between 1 and 4)
        and (enqueue.max_attempts is null or enqueue.max_attempts between 1 and 1000)
        and enqueue.unique_key is null
    ) is not true then
        perform errand_internal.check_job(
            enqueue.kind, enqueue.payload, enqueue.queue, enqueue.priority, enqueue.max_attempts, enqueue.unique_key);
    end if;
    if bytes is not null and on_conflict = 'keep' and not follow and if_parent_fails = 'wait'
        and num_nonnulls(
            enqueue.run_at, enqueue.unique_key, not_after, enqueue.limit_key, enqueue.guard, tags, enqueue.subject,
            enqueue.options, after, enqueue.rate_key, unique_for, unique_while, no_later_than,
            enqueue.order_key, enqueue.if_head_fails) = 0
    then
        if enqueue.batch is null then
            insert into errand.job (queue, kind, payload, state, queue_position, priority, max_attempts)
            select
                coalesce(enqueue.queue, defaults.queue, 'default'), enqueue.kind, enqueue.payload, 'available',
                nextval('errand.job_position'), coalesce(enqueue.priority, defaults.priority, 2),
                coalesce(enqueue.max_attempts, defaults.max_attempts, 10)
            from (values (enqueue.kind)) as asked (name)
            left join errand.kind as defaults on defaults.name = asked.name
            where defaults.limit_key is null and defaults.rate_key is null and defaults.order_key is null
                and (kind_defaults is null or defaults.name is not null)
                and (defaults.untaken_since is null or errand_internal.tell_untaken(asked.name, defaults.untaken_since))
            returning id, true, job.state into job_id, inserted, state;
        elsif current_setting('transaction_isolation') in ('read committed', 'read uncommitted') then
            -- In an open batch of its own, in one statement, which takes 6 us more: see errand_internal.join_batch.
            with added as (
                insert into errand.job (queue, kind, payload, state, queue_position, priority, max_attempts, options)
                select
                    coalesce(enqueue.queue, defaults.queue, 'default'), enqueue.kind, enqueue.payload, 'available',
                    nextval('errand.job_position'), coalesce(enqueue.priority, defaults.priority, 2),
                    coalesce(enqueue.max_attempts, defaults.max_attempts, 10), jsonb_build_object('batch', asked.id)
                from errand.batch as asked
                left join errand.kind as defaults on defaults.name = enqueue.kind
                where asked.id = enqueue.batch and asked.closed_at is null and asked.owner = session_user
                    and defaults.limit_key is null and defaults.rate_key is null and defaults.order_key is null
                    and (kind_defaults is null or defaults.name is not null)
                    and (
                        defaults.untaken_since is null
                        or errand_internal.tell_untaken(enqueue.kind, defaults.untaken_since))
                returning id, job.state
            ),
            joined as (
                insert into errand.batch_jobs (batch_id, last_id, first_id) select enqueue.batch, id, id from added
            )
            select id, true, added.state into job_id, inserted, state from added;
        end if;
        -- Else the kind has a limit or a rate, or no row yet.
        if found then
            -- As errand_internal.wake, without its call while no worker sleeps.
            if pg_sequence_last_value('errand.wake_flag') = 2 then
                perform errand_internal.notify('errand_wake', '');
            end if;
            return;
        end if;
    end if;
    select *
    into job_id, inserted, state
    from errand_internal.insert_job(
        enqueue.kind, enqueue.payload, enqueue.queue, enqueue.run_at, enqueue.priority, enqueue.max_attempts,
        enqueue.unique_key, not_after, on_conflict, enqueue.limit_key, enqueue.guard, tags, enqueue.subject,
        enqueue.options, case when follow then session_user::text end, kind_defaults, null, after, if_parent_fails,
        rate_key => enqueue.rate_key, unique_for => enqueue.unique_for, unique_while => enqueue.unique_while,
        no_later_than => enqueue.no_later_than, order_key => enqueue.order_key,
        if_head_fails => enqueue.if_head_fails, batch => enqueue.batch);
end
$$;
