-- rescue_v2: takes back what lost workers held. A worker is lost when its last heartbeat is older than its lease. One
-- that lies in the future was before the server's clock went back: its lease begins anew.
--
-- A job goes back in line, or into errand.failed when its attempts are spent. One that has now been running in two
-- crashes is parked, and goes back in line alone (errand.release_crashed_v1): a worker begins it when it runs nothing
-- else. Only a crash in which its worker held nothing else counts as the third, which sets it aside in errand.failed.
-- In any other crash it had not begun, and its attempt is given back.
--
-- The jobs are looked for only where a worker was lost just now, or when scan asks for it: that reads everything in
-- line.
create or replace function errand.rescue_v2(scan boolean)
returns table (lost_workers int, rescued int, failed int)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    names jsonb;
    held_by jsonb;
    held errand.job;
    had_begun boolean;
    reason text;
    worker text;
    began timestamptz := clock_timestamp();
begin
    lost_workers := 0;
    rescued := 0;
    failed := 0;
    -- One at a time is enough; two would do no harm.
    if not errand.try_lock('rescue') then
        return next;
        return;
    end if;
    update errand.worker set beat_at = now() where beat_at > now() + interval '1 second';
    with lost as (
        delete from errand.worker
        where id in (
            select silent.id from errand.worker as silent where silent.beat_at < now() - silent.lease for update skip locked)
        returning id, name
    )
    select count(*), coalesce(jsonb_object_agg(id, name), '{}') into lost_workers, names from lost;
    if lost_workers > 0 or scan then
        select jsonb_object_agg(worker_id, jobs) into held_by
        from (
            select worker_id, count(*) as jobs
            from errand.job
            where line is not null and state = 'running' and worker_id is not null
            group by worker_id) as one;
        for held in
            select job.*
            from errand.job
            where line is not null and state = 'running'
                and not exists (select from errand.worker where worker.id = job.worker_id)
            for update skip locked
        loop
            worker := names ->> held.worker_id::text;
            had_begun := held.crashes < 2 or coalesce((held_by ->> held.worker_id::text)::int, 1) = 1;
            if had_begun then
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
                perform errand.end_in_failure(held, reason);
                failed := failed + 1;
            elsif held.crashes = 2 then
                update errand.job
                set state = 'parked', line = null, worker_id = null, parked_for = 'crash', attempt = held.attempt,
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
    if rescued > 0 then
        perform errand.wake();
    end if;
    -- Not at each call: most find nothing, and need no transaction id.
    if lost_workers > 0 or not exists (select from errand.duty where name = 'rescue' and done_at > began - interval '30 seconds')
    then
        perform errand.note_duty(
            'rescue', began, case when lost_workers > 0 then lost_workers || ' workers were lost' end);
    end if;
    return next;
end
$$;
comment on function errand.rescue_v2(boolean) is
    'Housekeeping: puts the jobs of lost workers back in line, or sets them aside after two crashes, and for good after three';
