-- pull: takes up to max_jobs due jobs for a worker in any language, from these queues and of these kinds. Call it in a
-- transaction of its own, run the jobs, and tell their outcomes by errand.done, errand.fail, errand.snooze or
-- errand.release.
--
--   select * from errand.pull('{mail}', '{send_mail}', max_jobs => 10);
--   select * from errand.pull('{mail}', '{send_mail}', 10, worker => '6f1e…', running => '{2a.1.3f}');
--
-- The first call registers the worker, and returns its id as worker_id. Each later one names that as worker, and in
-- running the tokens of all jobs that the worker holds. That extends its lease (errand.renew does the same without new
-- jobs): a worker that calls neither within the lease, up to 1 hour, is lost, and its jobs run elsewhere. A job that is
-- held for 30 s, and that two checks a quarter of the lease apart don't find in running, is taken back, and its attempt
-- isn't counted. label is the worker's name for people, else the session's application_name.
--
-- With running => null the call says nothing about what the worker holds: it checks nothing, and returns an empty lost.
-- That is for a worker which calls errand.renew on another connection meanwhile. A new worker_id still says that all
-- jobs of the old one are lost.
--
-- Returns a row for each job, or one row without a job, with id null. worker_id and lost are the same in all rows. lost
-- has the tokens of running that are the worker's no more, as after errand.cancel: stop them, their outcomes change
-- nothing. After the lease has ended, lost has all of them and worker_id is a new one. options has what
-- errand_internal.check_options allows, with tags, and not_after in microseconds since 2000.
--
-- begin_now is how many of the jobs the worker starts at once (default: all): jobs on their last attempt or under a
-- limit are returned only for these. With listens = true, a call that finds no job lets enqueues send NOTIFY
-- errand_wake, for which the worker LISTENs. The NOTIFY may be lost, so it also pulls each second.
--
-- Commit at once. Until then the jobs are locked, and so are limits: a session that is idle for 5 s after the call, in
-- its transaction, is ended by the server.
--
-- Raises ER422 for an argument out of bounds, and ER421 if the database is a copy that nobody has adopted.
-- errand: for worker
-- errand: topic pull
create or replace function errand.pull(
    queues text[], kinds text[], max_jobs int default 1, lease interval default '1 minute', worker uuid default null,
    running text[] default '{}', begin_now int default null, listens boolean default false, label text default null
) returns table (
    worker_id uuid, id bigint, token text, queue text, kind text, attempt int, max_attempts int, priority int,
    created_at timestamptz, run_at timestamptz, payload jsonb, options jsonb, lost text[]
)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    commits constant text := current_setting('synchronous_commit');
    -- From before the scan: another worker that raises it later need not look for these jobs.
    was_raised constant boolean := coalesce(pg_sequence_last_value('errand.wake_flag') = 2, false);
    -- One in sixteen begins at the end, so that the lowest priority isn't starved.
    priorities constant smallint[] := case when random() < 0.0625 then '{4,3,2,1}' else '{1,2,3,4}' end;
    leased record;
    own errand.worker;
    busy text[] := pull.queues;
    one text;
    taken int := 0;
    found int;
    freed text[];
begin
    if (max_jobs between 1 and 500) is not true then
        raise exception 'pull: max_jobs: expected 1 to 500, got %', coalesce(max_jobs::text, 'null')
            using errcode = 'ER422';
    elsif (cardinality(pull.queues) > 0 and array_position(pull.queues, null) is null) is not true then
        raise exception 'pull: queues: expected names, got %', coalesce(pull.queues::text, 'null')
            using errcode = 'ER422';
    elsif (cardinality(kinds) > 0 and array_position(kinds, null) is null) is not true then
        raise exception 'pull: kinds: expected names, got %', coalesce(kinds::text, 'null') using errcode = 'ER422';
    end if;
    select * into leased
    from errand_internal.renew_pulling(
        pull.worker, running, pull.queues, kinds, pull.lease, label);
    own := leased.own;
    if current_setting('idle_in_transaction_session_timeout')::interval not between '1 ms' and '5 s' then
        perform set_config('idle_in_transaction_session_timeout', '5s', true);
    end if;
    freed := errand_internal.limits_with_room();
    for pass in 1..2 loop
        if cardinality(busy) > 1 and freed = '{}' then
            select probe.busy into busy
            from errand_internal.probe_v1(
                pull.queues, kinds,
                array(
                    select mark
                    from unnest(pull.queues) with ordinality as asked(name, index)
                    cross join lateral unnest(errand_internal.marks_of(own.marks, asked.name)) with ordinality
                        as entry(mark, level)
                    order by asked.index, entry.level),
                false) as probe;
        end if;
        for one in select name from unnest(busy) as name order by random() loop
            exit when taken >= max_jobs;
            return query
            select
                own.pulls_as, claimed.id,
                to_hex(claimed.id) || '.' || to_hex(own.id) || '.' || to_hex(claimed.queue_position), one, claimed.kind,
                claimed.attempt::int, claimed.max_attempts::int, claimed.priority::int,
                claimed.created_at, claimed.run_at, claimed.payload,
                -- Programs of Errand get JSON as text.
                coalesce(
                    jsonb_set(
                        claimed.options, '{signal,payload}', (claimed.options #>> '{signal,payload}')::jsonb),
                    claimed.options),
                leased.lost
            from errand_internal.claim_v1(
                one, kinds, own.id, max_jobs - taken, errand_internal.marks_of(own.marks, one), priorities, true,
                greatest(coalesce(begin_now, max_jobs) - taken, 0), serialize => max_jobs - taken >= 100,
                release => nullif(freed, '{}')) as claimed
            where claimed.id is not null;
            get diagnostics found = row_count;
            taken := taken + found;
            freed := '{}';
        end loop;
        exit when taken > 0 or not listens or was_raised;
        -- The second pass sees each enqueue that has not seen the flag.
        perform errand_internal.set_wake_flag_v1(true);
        busy := pull.queues;
    end loop;
    if listens and taken = max_jobs then
        -- It won't sleep: enqueues needn't notify it.
        perform errand_internal.set_wake_flag_v1(false);
    end if;
    if current_setting('synchronous_commit') <> commits then
        -- The caller's own writes, if any, commit as it wants.
        perform set_config('synchronous_commit', commits, true);
    end if;
    if taken = 0 then
        worker_id := own.pulls_as;
        lost := leased.lost;
        return next;
    end if;
end
$$;
