-- rescue: rescues the jobs of lost workers.
--
-- A worker is lost if two calls, 1.5 to 3 heartbeats apart, found the same last heartbeat, and it is older than the
-- lease. After an outage of the server all heartbeats are old, and the live workers send the next ones before the
-- second call. missed_at holds the time of the first call, for whichever session makes the second. A first call that is
-- longer ago, perhaps before an outage, counts no more. A heartbeat in the future is from before the server's clock was
-- set back: the lease starts again.
--
-- A rescued job becomes available, or moves to errand.failed if its attempts are spent. A job that was running in two
-- crashes is parked, and later runs alone (errand_internal.release_crashed). Only a crash in which its worker held
-- no other job counts as the third, which moves the job to errand.failed. In any other crash it had not started, and
-- its attempt is not counted. The loss of a worker after an outage is no crash: the server has started since the last
-- heartbeat, or the first call came after the lease although another worker of that time lives.
--
-- The jobs of a worker are found by the records of its claims, so the cost depends on what it held and not on the size
-- of the queue. The records stay while another session has locked one of the jobs: the next call returns to it.
--
-- With from_page, 10,000 pages of errand.job are read too, for running jobs without a record. next_page is the page to
-- go on with, null at the end. This is a safety net: no function leaves such jobs.
create or replace function errand_internal.rescue(from_page bigint default null)
returns table (lost_workers int, rescued int, failed int, next_page bigint)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    names jsonb;
    after_outage bigint[];
    lost bigint[];
    claimed bigint[];
    unnamed bigint[] := '{}';
    unnamed_by bigint[] := '{}';
    held_by jsonb;
    existing errand.job;
    is_alone boolean;
    reason text;
    worker text;
    followed bigint[] := '{}';
begin
    lost_workers := 0;
    rescued := 0;
    failed := 0;
    update errand.worker set heartbeat_at = now() where heartbeat_at > now() + interval '1 second';
    with gone as (
        delete from errand.worker
        where id in (
            select silent.id
            from errand.worker as silent
            where silent.heartbeat_at < now() - silent.lease and silent.missed_at > silent.heartbeat_at
                and silent.missed_at
                    between now() - 3 * silent.heartbeat_interval and now() - 1.5 * silent.heartbeat_interval
            for update skip locked)
        returning
            id, name,
            server_start <> errand_internal.server_start()
                -- Calls are 5 s apart.
                or missed_at > heartbeat_at + greatest(lease, interval '10 seconds')
                    and exists (
                        select
                        from errand.worker as other
                        where other.started_at < worker.heartbeat_at
                            and other.heartbeat_at > worker.heartbeat_at + worker.lease
                            and other.heartbeat_at > now() - other.lease) as is_after_outage
    )
    select count(*), coalesce(jsonb_object_agg(id, name), '{}'), array_agg(id) filter (where is_after_outage)
    into lost_workers, names, after_outage
    from gone;
    -- Early enough for two calls before the end of the lease.
    update errand.worker
    set missed_at = now()
    where id in (
        select silent.id
        from errand.worker as silent
        where silent.heartbeat_at < now() - silent.lease + 2 * silent.heartbeat_interval
            and (
                silent.missed_at > silent.heartbeat_at
                and silent.missed_at between now() - 3 * silent.heartbeat_interval and now()) is not true
        for update skip locked);
    -- Also of earlier calls: a job was locked then, or a claim still ran.
    lost := array(
        select distinct worker_id
        from errand.claim
        where not exists (select from errand.worker where worker.id = claim.worker_id));
    claimed := errand_internal.claimed_by(lost);
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
        for existing in
            select job.*
            from errand.job
            -- By the ids of lost workers, and not by errand.worker: while this loop runs, a job may be released and
            -- claimed by a worker that the snapshot doesn't show.
            where id = any (claimed || unnamed) and state = 'running' and worker_id = any (lost || unnamed_by)
            for update skip locked
        loop
            worker := names ->> existing.worker_id::text;
            -- Unknown for a job without a record.
            is_alone := coalesce((held_by ->> existing.worker_id::text)::int, 0) = 1;
            if existing.worker_id = any (after_outage) then
                reason := 'its worker was lost after an outage of the database';
                existing.attempts := errand_internal.attempt_record(existing, worker, 'lost', reason);
            elsif existing.crashes < 2 or is_alone then
                existing.crashes := least(existing.crashes, 1000) + 1;
                reason := case
                    when existing.crashes >= 3 then format('running in %s crashes of its worker', existing.crashes)
                    else 'its worker was lost'
                end;
                existing.attempts := errand_internal.attempt_record(existing, worker, 'lost', reason);
            else
                existing.attempt := existing.attempt - 1;
            end if;
            if existing.crashes >= 3 or existing.attempt >= existing.max_attempts then
                perform errand_internal.move_to_failed(existing, reason);
                failed := failed + 1;
                if existing.options ? 'owner' then
                    followed := followed || existing.id;
                end if;
            elsif existing.crashes = 2 then
                update errand.job
                set state = 'parked', queue_position = null, worker_id = null, parked_for = 'crash',
                    attempt = existing.attempt, crashes = existing.crashes, attempts = existing.attempts
                where id = existing.id;
                rescued := rescued + 1;
            else
                update errand.job
                set state = 'available', crashes = existing.crashes, attempts = existing.attempts
                where id = existing.id;
                rescued := rescued + 1;
            end if;
            if existing.waiting_key is not null then
                perform errand_internal.regain_keys(array[existing.id]);
            end if;
        end loop;
    end if;
    if followed <> '{}' then
        perform errand_internal.tell_ended(followed, array_fill('failed'::text, array[cardinality(followed)]));
    end if;
    if cardinality(lost) > 0 then
        perform errand_internal.drop_claims(lost);
    end if;
    perform errand_internal.lower_wake_flag();
    if rescued > 0 then
        perform errand_internal.wake();
    end if;
    return next;
end
$$;
