-- claim_v1: claims up to max_jobs due jobs of one queue for a worker. The claim is a heap-only update, however large
-- the table is. The exception is a job with a waiting_key: its unique key is free from here on
-- (errand_internal.regain_keys).
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
-- generation is stored with the claim (errand.claim), so that a lost worker's jobs are found without a scan of the
-- queue.
--
-- release has the limit keys of jobs that have completed in the same transaction. Jobs that wait for them are released
-- (errand_internal.release_limits), and come first if no waiting job comes before them (errand_internal.pick_released).
-- high is the value from before that, so their positions are above it.
--
-- Jobs that may not run, as they are too late, unwanted or without a slot, leave the queue (errand_internal.pick_due).
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
    serialize boolean default false, release text[] default null
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
    scope errand.claim_scope := row(claim_v1.queue, kinds, priorities, null, null, null, null);
    newest_position bigint;
    newest_transaction bigint;
    seen pg_snapshot;
    may_claim boolean;
    may_lock boolean := true;
    is_rated boolean;
    most int := max_jobs;
    released bigint[];
    met tid[];
    pick record;
    claimed int;
    room_in bigint;
    started timestamptz;
begin
    if serialize then
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
    if release is not null then
        select freed.released, freed.may_lock into released, may_lock
        from errand_internal.release_limits(release) as freed;
    end if;
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
                or exists (select from errand.kind where limit_key is not null or rate_key is not null)
            then errand_internal.checked_kinds()
        end,
        exists (select from errand.job where crashes >= 1 and state = 'available' and job.queue = claim_v1.queue),
        exists (
            select
            from errand.job
            where is_handed_back and state = 'available' and job.queue = claim_v1.queue and kind = any (kinds))
    into
        seen, newest_transaction, may_claim, is_rated, scope.is_bounded, scope.checked, scope.has_crashed,
        scope.has_handed_back;
    if is_rated and may_claim then
        -- Before the jobs' rows, and before a limit needs the lock.
        may_claim := may_lock and errand_internal.lock_limits();
        most := least(max_jobs, errand_internal.rate_room(claim_v1.queue));
        if may_claim and most = 0 then
            return query
            select * from errand_internal.empty_claim(
                0, newest_transaction, seen, 0, null, errand_internal.rate_wait(claim_v1.queue));
        end if;
    end if;
    if not may_claim or most = 0 then
        return;
    end if;
    if not durable then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    begin_now := coalesce(begin_now, max_jobs);
    if scope.has_crashed and takes_crashed and begin_now > 0 then
        met := errand_internal.pick_crashed(scope);
    end if;
    if released is not null then
        met := met || errand_internal.pick_released(scope, marks, released, most - coalesce(cardinality(met), 0));
    end if;
    select * into pick
    from errand_internal.pick_due(scope, marks, nullif(met, '{}'), most, begin_now, may_lock, durable);
    -- A position below the marks does not say how far the claim has read.
    if pick.rest is not null or pick.took_handed_back then
        newest_position := 0;
    end if;
    if is_rated and cardinality(pick.picked) = most then
        room_in := errand_internal.rate_wait(claim_v1.queue, most);
    end if;
    -- now() may lie before run_at: the transaction may have waited since.
    started := clock_timestamp();
    return query
    update errand.job
    set state = 'running', attempt = least(job.attempt, 32766) + 1, started_at = started,
        worker_id = claim_v1.worker_id, is_handed_back = null,
        -- Only the jobs with a waiting_key lose their key, and are no heap-only update.
        unique_key = case when job.waiting_key is null then job.unique_key end
    where job.ctid = any (pick.picked)
    returning
        job.id, job.queue_position, job.kind, job.attempt, job.max_attempts, job.priority, job.created_at, job.run_at,
        job.started_at, coalesce(job.payload, errand_internal.large_payload(job.payload_day, job.id)),
        case
            when num_nonnulls(job.not_after, job.guard, job.limit_key, job.tags) = 0
                and (job.options ? 'signal') is not true then job.options
            else errand_internal.job_options(job)
        end,
        job.crashes, newest_position, newest_transaction, seen, most, pick.rest, room_in;
    get diagnostics claimed = row_count;
    if claimed = 0 then
        return query
        select * from errand_internal.empty_claim(newest_position, newest_transaction, seen, most, pick.rest, room_in);
        return;
    end if;
    insert into errand.claim (worker_id, generation, job_ids)
    values (claim_v1.worker_id, claim_v1.generation, pick.ids);
    if is_rated then
        -- After the start: a span counts from it.
        perform errand_internal.rate_spend(claim_v1.queue, claimed);
    end if;
end
$$;
