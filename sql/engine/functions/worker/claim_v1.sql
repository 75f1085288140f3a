-- claim_v1: claims up to max_jobs due jobs of one queue for a worker. The claim is a heap-only update, however large
-- the table is.
--
-- marks[p] is the worker's mark for priority p: the scan starts behind that position. 0 is always correct, only slower.
-- priorities is the order in which the priorities are scanned. With durable = false the commit returns before it is on
-- disk: after a crash of the server, the jobs are simply claimed again.
--
-- begin_now is the number of jobs that the worker starts at once (default: all). Jobs on their last attempt, and jobs
-- that were running in a crash of their worker, are claimed only to start at once: so each counted attempt has really
-- begun. So are jobs under a limit, since they hold its slots from here on. With takes_crashed, one job of a crash is
-- claimed, before all others.
--
-- Handed-back jobs lie below the marks. They have an index of their own, and come first in their priority.
--
-- generation is stored with the claim (errand.claim), so that a lost worker's jobs are found without a scan of the
-- queue.
--
-- The claim locks jobs in their order first, without any decision. Some of them need one (errand_internal.admit): those
-- with a last moment, a guard or a limit, and those of kinds with a limit or with a circuit that is open. If some may
-- not run, the claim goes on behind them. After 100 such jobs it takes jobs that may from behind them
-- (errand_internal.pick_beyond), and removes such jobs from the next 20,000 positions (errand_internal.clear_blocked),
-- or 2,000 if it has jobs to run or writes outcomes. Guards get 250 ms; jobs whose guard was not called by then stay in
-- the queue.
--
-- Jobs that errand_internal.release_v1 has released in the same transaction come first, if no waiting job comes before
-- them (errand_internal.pick_released). high is the value from before that, so their positions are above it.
--
-- A claim takes at most 16 MiB of payloads (errand_internal.trim_claim).
--
-- With serialize, large claims run one after the other (errand_internal.lock_claims). Two at the same time would visit
-- the same rows, and each would lock jobs that the other has just claimed.
--
-- Returns a row for each job, or one row of nulls if no job was due. From high (the newest position), latest (the
-- newest transaction id, or this one's own) and snapshot the worker concludes its next marks. high = 0 allows no
-- conclusion: the scan did not reach the end, or a handed-back job was claimed. asked is the largest number of jobs
-- that the claim could take: max_jobs, or the room of the queue's rate. rest says what is left for the next claim:
-- 'more' = jobs that may be claimed at once, 'slots' = jobs that are claimed only to start at once, null = none that
-- this claim has met. room_in_us is the time in microseconds until the queue's rate has room again, null if it has room
-- now or no rate is set. options is errand_internal.job_options of the job, or null.
--
-- If the rate has no room, one row of nulls with asked = 0 allows no conclusion. Returns no row, and allows none
-- either, if the queue is paused, if the worker is drained or has lost its lease, or if the database is a copy that
-- nobody has adopted.
create or replace function errand_internal.claim_v1(
    queue text, kinds text[], worker_id bigint, max_jobs int, marks bigint[], priorities smallint[], durable boolean,
    begin_now int default null, takes_crashed boolean default true, generation int default 0,
    serialize boolean default false
) returns table (
    id bigint, queue_position bigint, kind text, attempt smallint, max_attempts smallint, priority smallint,
    created_at timestamptz, run_at timestamptz, started_at timestamptz, payload jsonb, options jsonb, crashes smallint,
    high bigint, latest bigint, snapshot pg_snapshot, asked int, rest text, room_in_us bigint
)
-- The planner must neither scan the table nor sort: a plan from when the table was empty would do both forever. The
-- forbidden plans cost so much that reading a sequence would start the JIT compiler, which takes 90 ms a session.
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    newest_position bigint;
    newest_transaction bigint;
    seen pg_snapshot;
    may_claim boolean;
    is_rated boolean;
    is_bounded boolean;
    checked text[];
    has_crashed boolean;
    has_handed_back boolean;
    most int := max_jobs;
    begin_left int := coalesce(begin_now, max_jobs);
    released bigint[] := nullif(current_setting('errand.released', true), '')::bigint[];
    -- Jobs that come next, those of them that need a decision, those that were met before, and those that may run.
    locked tid[];
    undecided tid[];
    met tid[];
    picked tid[];
    ids bigint[];
    starts bigint[] := marks;
    last record;
    room int;
    scanned int;
    visited int := 0;
    is_checked boolean := false;
    admitted record;
    took_handed_back boolean;
    last_attempts int;
    needs_trim boolean;
    blocked int := 0;
    left_over text;
    claimed int;
    room_in bigint;
    started timestamptz;
begin
    -- After errand_internal.release_v1 this transaction may hold the limits' lock, for which the claim before it may
    -- wait.
    if serialize and coalesce(current_setting('errand.position_before', true), '') = '' then
        perform errand_internal.lock_claims();
    end if;
    -- A limit that this claim does not see waits for its end: see errand_internal.give_slots.
    lock table errand.limits_lock in row exclusive mode;
    -- Before it picks a job: one that it has picked without a limit would get no slot.
    if exists (select from errand.limit where not has_slots) then
        perform errand_internal.give_slots(waits => false);
    end if;
    -- A function call instead of a query: an idle worker's claim of one job takes as long as its queries take to begin.
    newest_position := coalesce(pg_sequence_last_value('errand.job_position'), 0);
    -- The snapshot comes before the scan. A later one may show a transaction as ended whose job the scan has not seen,
    -- and the marks would pass that job.
    select
        pg_current_snapshot(),
        -- As errand_internal.latest_transaction, which would be parsed and planned again in each claim.
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint + age(pg_snapshot_xmax(pg_current_snapshot())::xid),
        not exists (select from errand.queue where name = claim_v1.queue and paused_at is not null)
            and exists (select from errand.worker where id = claim_v1.worker_id and drained_at is null)
            and errand_internal.is_home(),
        exists (select from errand.rate where rate.queue = claim_v1.queue),
        exists (select from errand.limit),
        case
            when exists (select from errand.circuit where opened_at is not null)
                or exists (select from errand.kind where limit_key is not null)
            then errand_internal.checked_kinds()
        end,
        exists (select from errand.job where crashes >= 1 and state = 'available' and job.queue = claim_v1.queue),
        exists (
            select
            from errand.job
            where is_handed_back and state = 'available' and job.queue = claim_v1.queue and kind = any (kinds))
    into seen, newest_transaction, may_claim, is_rated, is_bounded, checked, has_crashed, has_handed_back;
    if is_rated and may_claim then
        -- Before the jobs' rows, and before a limit needs the lock.
        may_claim := errand_internal.lock_limits();
        most := least(max_jobs, errand_internal.rate_room(claim_v1.queue));
        if may_claim and most = 0 then
            return query
            select null::bigint, null::bigint, null::text, null::smallint, null::smallint, null::smallint,
                null::timestamptz, null::timestamptz, null::timestamptz, null::jsonb, null::jsonb, null::smallint,
                0::bigint, newest_transaction, seen, 0, null::text, errand_internal.rate_wait(claim_v1.queue);
        end if;
    end if;
    if not may_claim or most = 0 then
        return;
    end if;
    if not durable then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    if has_crashed and takes_crashed and begin_left > 0 then
        met := array(
            select ctid
            from errand.job
            where crashes >= 1 and state = 'available' and job.queue = claim_v1.queue and kind = any (kinds)
            order by id
            limit 1
            for update skip locked);
    end if;
    if released is not null then
        -- Their positions are above it, so no mark moves by them.
        newest_position := least(newest_position, current_setting('errand.position_before')::bigint);
        perform set_config('errand.released', '', true);
        met := met || errand_internal.pick_released(
            claim_v1.queue, kinds, priorities, marks, released, most - coalesce(cardinality(met), 0));
    end if;
    locked := nullif(met, '{}');
    met := locked;
    last_attempts := coalesce(cardinality(met), 0);
    needs_trim := met is not null;
    room := most - last_attempts;
    loop
        select
            locked || array_agg(ctid), array_agg(id), count(*), took_handed_back or bool_or(is_handed_back),
            last_attempts + count(*) filter (where is_last),
            needs_trim or bool_or(is_compressed) or sum(bytes) > 16777216,
            locked || array_agg(ctid) filter (where needs_admission)
        into locked, ids, scanned, took_handed_back, last_attempts, needs_trim, undecided
        from (
            select
                due.ctid, due.id, due.is_handed_back, due.attempt + 1 >= due.max_attempts as is_last,
                pg_column_compression(due.payload) is not null as is_compressed,
                coalesce(due.payload_bytes, pg_column_size(due.payload)) as bytes,
                due.not_after is not null or due.guard is not null or due.limit_key is not null and is_bounded
                    or due.kind = any (checked) as needs_admission
            from (
                select waits.*
                from unnest(priorities) as level
                cross join lateral (
                    select *
                    from (
                        select
                            waiting.ctid, waiting.id, waiting.kind, waiting.not_after, waiting.guard, waiting.limit_key,
                            waiting.attempt, waiting.max_attempts, waiting.payload, waiting.payload_bytes,
                            waiting.is_handed_back
                        from errand.job as waiting
                        where has_handed_back and waiting.is_handed_back and waiting.queue = claim_v1.queue
                            and waiting.priority = level and waiting.state = 'available' and waiting.kind = any (kinds)
                            and (not has_crashed or waiting.crashes = 0)
                        order by waiting.queue_position
                        for update skip locked) as handed_back
                    union all
                    select *
                    from (
                        select
                            waiting.ctid, waiting.id, waiting.kind, waiting.not_after, waiting.guard, waiting.limit_key,
                            waiting.attempt, waiting.max_attempts, waiting.payload, waiting.payload_bytes,
                            waiting.is_handed_back
                        from errand.job as waiting
                        where waiting.queue = claim_v1.queue and waiting.priority = level
                            and waiting.queue_position > starts[level]
                            and waiting.state = 'available' and waiting.kind = any (kinds)
                            and waiting.is_handed_back is null and (not has_crashed or waiting.crashes = 0)
                        order by waiting.queue_position
                        for update skip locked) as by_position
                ) as waits
                limit room + coalesce(cardinality(met), 0)) as due
            where met is null or due.ctid <> all (met)
            limit room) as one;
        visited := visited + scanned;
        if undecided is null then
            picked := picked || locked;
        else
            is_checked := true;
            select * into admitted from errand_internal.admit(undecided, checked, begin_left);
            if cardinality(undecided) = cardinality(locked) then
                picked := picked || admitted.fit;
            else
                picked := picked || array(
                    select row_id
                    from unnest(locked) as row_id
                    where row_id <> all (undecided) or row_id = any (admitted.fit));
            end if;
            begin_left := begin_left - admitted.begun;
            blocked := blocked + admitted.blocked;
            left_over := least(left_over, admitted.rest);
        end if;
        exit when scanned < room or cardinality(picked) >= most or visited >= most + 100 or blocked >= 100;
        -- It goes on behind these. Released jobs lie far behind them.
        for last in
            select job.priority, max(job.queue_position) filter (where job.is_handed_back is null) as position,
                array_agg(job.ctid) filter (where job.is_handed_back) as handed_back
            from errand.job
            where job.ctid = any (locked) and (met is null or job.ctid <> all (met))
            group by job.priority
        loop
            starts[last.priority] := greatest(starts[last.priority], last.position);
            met := met || last.handed_back;
        end loop;
        locked := null;
        room := least(most - coalesce(cardinality(picked), 0), most + 100 - visited);
        if admitted.blocked * 2 >= scanned then
            -- So that a claim of few jobs decides on more than those at once.
            blocked := blocked
                + errand_internal.clear_blocked(claim_v1.queue, kinds, priorities, starts, checked, picked, 100);
        end if;
    end loop;
    if blocked >= 100 then
        locked := nullif(
            errand_internal.pick_beyond(
                claim_v1.queue, kinds, priorities, marks, checked, picked, most - coalesce(cardinality(picked), 0)),
            '{}');
        if locked is not null then
            select * into admitted from errand_internal.admit(locked, checked, begin_left);
            picked := picked || admitted.fit;
            begin_left := begin_left - admitted.begun;
            left_over := least(left_over, admitted.rest);
            needs_trim := true;
        end if;
    end if;
    if picked is not null and (needs_trim or last_attempts > begin_left) then
        select trimmed.fit, least(left_over, trimmed.rest)
        into picked, left_over
        from errand_internal.trim_claim(picked, coalesce(begin_now, max_jobs)) as trimmed;
        is_checked := true;
    end if;
    if is_checked then
        ids := array(select id from errand.job where ctid = any (picked));
    end if;
    if has_crashed then
        left_over := coalesce(left_over, 'slots');
    end if;
    if blocked >= 100 then
        left_over := 'more';
        perform errand_internal.clear_blocked(
            claim_v1.queue, kinds, priorities, marks, checked, picked,
            case when picked is null and not durable then 20000 else 2000 end);
    end if;
    -- A position below the marks does not say how far the claim has read.
    if left_over is not null or took_handed_back then
        newest_position := 0;
    end if;
    if is_rated and cardinality(picked) = most then
        room_in := errand_internal.rate_wait(claim_v1.queue, most);
    end if;
    -- now() may lie before run_at: the transaction may have waited since.
    started := clock_timestamp();
    return query
    update errand.job
    set state = 'running', attempt = least(job.attempt, 32766) + 1, started_at = started,
        worker_id = claim_v1.worker_id, is_handed_back = null
    where job.ctid = any (picked)
    returning
        job.id, job.queue_position, job.kind, job.attempt, job.max_attempts, job.priority, job.created_at, job.run_at,
        job.started_at, coalesce(job.payload, errand_internal.large_payload(job.payload_day, job.id)),
        case
            when num_nonnulls(job.not_after, job.guard, job.limit_key, job.tags, job.options) = 0 then null
            else errand_internal.job_options(job)
        end,
        job.crashes, newest_position, newest_transaction, seen, most, left_over, room_in;
    get diagnostics claimed = row_count;
    if claimed = 0 then
        return query
        select null::bigint, null::bigint, null::text, null::smallint, null::smallint, null::smallint,
            null::timestamptz, null::timestamptz, null::timestamptz, null::jsonb, null::jsonb, null::smallint,
            newest_position, newest_transaction, seen, most, left_over, room_in;
        return;
    end if;
    insert into errand.claim (worker_id, generation, job_ids) values (claim_v1.worker_id, claim_v1.generation, ids);
    if is_rated then
        -- After the start: a span counts from it.
        perform errand_internal.rate_spend(claim_v1.queue, claimed);
    end if;
end
$$;
