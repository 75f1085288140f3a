-- rescue_v1: rescues the jobs of lost workers. A worker is lost when its last heartbeat is older than its lease. A
-- heartbeat in the future is from before the server's clock was set back: the lease starts again.
--
-- A rescued job becomes available, or moves to errand.failed if its attempts are spent. A job that was running in two
-- crashes is parked, and later runs alone (errand.release_crashed_v1). Only a crash in which its worker held no other
-- job counts as the third, which moves the job to errand.failed. In any other crash it had not started, and its attempt
-- is not counted.
--
-- The jobs of a worker are found by the records of its claims, so the cost depends on what it held and not on the size
-- of the queue. The records stay while another session has locked one of the jobs: the next call returns to it.
--
-- With from_page, 10,000 pages of errand.job are read too, for running jobs without a record. next_page is the page to
-- go on with, null at the end. This is a safety net: no function leaves such jobs.
create or replace function errand.rescue_v1(from_page bigint default null)
returns table (lost_workers int, rescued int, failed int, next_page bigint)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    names jsonb;
    lost bigint[];
    claimed bigint[];
    unnamed bigint[] := '{}';
    unnamed_by bigint[] := '{}';
    held_by jsonb;
    held errand.job;
    is_alone boolean;
    reason text;
    worker text;
    began timestamptz := clock_timestamp();
begin
    lost_workers := 0;
    rescued := 0;
    failed := 0;
    -- One session at a time is enough; two do no harm.
    if not errand.try_lock('rescue') then
        next_page := from_page;
        return next;
        return;
    end if;
    update errand.worker set heartbeat_at = now() where heartbeat_at > now() + interval '1 second';
    with gone as (
        delete from errand.worker
        where id in (
            select silent.id
            from errand.worker as silent
            where silent.heartbeat_at < now() - silent.lease
            for update skip locked)
        returning id, name
    )
    select count(*), coalesce(jsonb_object_agg(id, name), '{}') into lost_workers, names from gone;
    -- Also of earlier calls: a job was locked then, or a claim still ran.
    lost := array(
        select distinct worker_id
        from errand.claim
        where not exists (select from errand.worker where worker.id = claim.worker_id));
    claimed := errand.claimed_by(lost);
    if from_page is not null then
        select coalesce(array_agg(id), '{}'), coalesce(array_agg(distinct worker_id), '{}')
        into unnamed, unnamed_by
        from errand.job
        where ctid >= format('(%s,0)', from_page)::tid and ctid < format('(%s,0)', from_page + 10000)::tid
            and state = 'running' and not exists (select from errand.worker where worker.id = job.worker_id);
        if (from_page + 10000) * current_setting('block_size')::bigint < pg_relation_size('errand.job') then
            next_page := from_page + 10000;
        end if;
    end if;
    if cardinality(claimed) + cardinality(unnamed) > 0 then
        select jsonb_object_agg(worker_id, jobs) into held_by
        from (
            select worker_id, count(*) as jobs
            from errand.job
            where id = any (claimed) and state = 'running' and worker_id = any (lost)
            group by worker_id) as one;
        for held in
            select job.*
            from errand.job
            -- By the ids of lost workers, and not by errand.worker: while this loop runs, a job may be released and
            -- claimed by a worker that the snapshot doesn't show.
            where id = any (claimed || unnamed) and state = 'running' and worker_id = any (lost || unnamed_by)
            for update skip locked
        loop
            worker := names ->> held.worker_id::text;
            -- Unknown for a job without a record.
            is_alone := coalesce((held_by ->> held.worker_id::text)::int, 0) = 1;
            if held.crashes < 2 or is_alone then
                held.crashes := least(held.crashes, 1000) + 1;
                reason := case
                    when held.crashes >= 3 then format('running in %s crashes of its worker', held.crashes)
                    else 'its worker was lost'
                end;
                held.attempts := errand.attempt_record(held, worker, 'lost', reason);
            else
                held.attempt := held.attempt - 1;
            end if;
            if held.crashes >= 3 or held.attempt >= held.max_attempts then
                perform errand.move_to_failed(held, reason);
                failed := failed + 1;
            elsif held.crashes = 2 then
                update errand.job
                set state = 'parked', queue_position = null, worker_id = null, parked_for = 'crash',
                    attempt = held.attempt, crashes = held.crashes, attempts = held.attempts
                where id = held.id;
                rescued := rescued + 1;
            else
                update errand.job
                set state = 'available', crashes = held.crashes, attempts = held.attempts
                where id = held.id;
                rescued := rescued + 1;
            end if;
        end loop;
    end if;
    if cardinality(lost) > 0 then
        perform errand.drop_claims(lost);
    end if;
    perform errand.lower_wake_flag();
    if rescued > 0 then
        perform errand.wake();
    end if;
    -- Not at each call: most find nothing and need no transaction id.
    if lost_workers > 0
        or not exists (
            select from errand.maintenance_task where name = 'rescue' and done_at > began - interval '30 seconds')
    then
        perform errand.record_maintenance_task(
            'rescue', began, case when lost_workers > 0 then lost_workers || ' workers were lost' end);
    end if;
    return next;
end
$$;
comment on function errand.rescue_v1(bigint) is
    'Housekeeping: makes the jobs of lost workers available, parks them after two crashes, and fails them after three';
