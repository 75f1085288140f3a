-- rescue_v1: takes back what lost workers held. A worker is lost when its last heartbeat is older than its lease. One
-- that lies in the future was before the server's clock went back: its lease begins anew.
--
-- A job goes back in line, or into errand.failed when its attempts are spent. One that has now been running in two
-- crashes is parked, and goes back in line alone (errand.release_crashed_v1): a worker begins it when it runs nothing
-- else. Only a crash in which its worker held nothing else counts as the third, which sets it aside in errand.failed.
-- In any other crash it had not begun, and its attempt is given back.
--
-- What a worker held is found by the records of its claims, so the cost is that of what it held, not of what waits.
-- The records stay while one of the jobs is locked by another session: the next call comes back for it.
--
-- With from_page, 10,000 pages of errand.job are read too, for running jobs that no record names; next_page is where
-- to go on, null at the end. A safety net: no function leaves such jobs behind.
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
    -- One at a time is enough; two would do no harm.
    if not errand.try_lock('rescue') then
        next_page := from_page;
        return next;
        return;
    end if;
    update errand.worker set heartbeat_at = now() where heartbeat_at > now() + interval '1 second';
    with gone as (
        delete from errand.worker
        where id in (
            select silent.id from errand.worker as silent where silent.heartbeat_at < now() - silent.lease for update skip locked)
        returning id, name
    )
    select count(*), coalesce(jsonb_object_agg(id, name), '{}') into lost_workers, names from gone;
    -- Of earlier calls too: a job was locked then, or a claim was still under way.
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
            -- By the ids of lost workers, and not by what is in errand.worker: a job may be released and claimed anew
            -- while this loop runs, by a worker that its snapshot doesn't show.
            where id = any (claimed || unnamed) and state = 'running' and worker_id = any (lost || unnamed_by)
            for update skip locked
        loop
            worker := names ->> held.worker_id::text;
            -- Of one that no record names nobody knows it.
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
                set state = 'parked', queue_position = null, worker_id = null, parked_for = 'crash', attempt = held.attempt,
                    crashes = held.crashes, attempts = held.attempts
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
    -- Not at each call: most find nothing, and need no transaction id.
    if lost_workers > 0 or not exists (select from errand.maintenance_task where name = 'rescue' and done_at > began - interval '30 seconds')
    then
        perform errand.record_maintenance_task(
            'rescue', began, case when lost_workers > 0 then lost_workers || ' workers were lost' end);
    end if;
    return next;
end
$$;
comment on function errand.rescue_v1(bigint) is
    'Housekeeping: puts the jobs of lost workers back in line, or sets them aside after two crashes, and for good after three';
