-- release_limit: gives the slots of a limit, by priority, oldest first: to its parked jobs, which are released, and to
-- the jobs of a claim (`candidates`), in their order. Each parked job gets its slot before the first candidate that
-- comes after it. Without candidates, all parked jobs are released that have room. A released job keeps its slot while
-- it runs, and for a second before: see errand_internal.slot_holders.
--
-- A candidate that has got a slot at its position keeps it, unless another job has got that slot since. If the limit is
-- full, a candidate takes the slot of a released job that comes after it and runs on no worker yet; that one parks
-- again. It was released while the candidate waited in its queue without a slot.
--
-- slots has an element for each candidate: its slot, which the caller gives to it, 0 if the limit is full for it, or
-- null if it was not decided, since `wanted` candidates have got slots. With wanted = 0, 0 says that it can't run, and
-- no candidate gets a slot.
--
-- The caller holds the lock of errand_internal.lock_limits. free has the numbers of slots that are still free, at most
-- 1,000; null = no limit, and at most 1,000 jobs were released. released_ids has the jobs that were
-- released.
create or replace function errand_internal.release_limit(
    limit_key text, candidates tid[] default null, wanted int default 0, out free int[], out slots int[],
    out released_ids bigint[]
)
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    bound constant errand.limit := errand_internal.bound_of(release_limit.limit_key);
    most constant int := bound.max_running;
    running int;
    -- The slots of jobs that run or were released within the last second, of the latter alone, and those given here.
    taken int[];
    waiting int[];
    given int[] := '{}';
    highest int;
    slow jsonb;
    -- The parked jobs that come next, in their order, and how many of them are released.
    parked_ids bigint[];
    priorities smallint[];
    run_ats timestamptz[];
    drawn bigint[];
    released int := 0;
    released_slots int[] := '{}';
    asked record;
    number int;
    -- Released jobs that no worker has claimed and whose slots candidates may take: the last one first.
    holders refcursor;
    behind record;
    replaced bigint[] := '{}';
begin
    if most is null and candidates is not null then
        return;
    elsif not bound.has_slots then
        -- They park. Maintenance gives the slots, and releases them.
        free := '{}';
        slots := array(select 0 from unnest(candidates));
        return;
    elsif most is not null then
        highest := errand_internal.highest_slot(release_limit.limit_key);
        select
            coalesce(array_agg(slot) filter (where state <> 'waiting'), '{}'),
            coalesce(array_agg(slot) filter (where state = 'released'), '{}'),
            count(*) filter (where state = 'running'), case when bool_or(state = 'waiting') then null else '{}' end
        into taken, waiting, running, slow
        from errand_internal.slot_holders(release_limit.limit_key);
        free := array(
            select number from generate_series(1, least(most, highest + 1000)) as number
            except
            select unnest(taken)
            order by number
            limit greatest(0, least(1000, most - cardinality(taken))));
    end if;
    if free is null or free <> '{}' then
        slow := coalesce(slow, errand_internal.slow_queues(release_limit.limit_key));
        select array_agg(job_id), array_agg(priority), array_agg(run_at)
        into parked_ids, priorities, run_ats
        from errand_internal.next_parked(
            release_limit.limit_key, coalesce(cardinality(free), 1000), slow,
            -- A claim holds the lock for as long as it reads: maintenance gets past jobs that are held back.
            case when wanted > 0 then 100 else 1000 end);
    end if;
    for asked in
        select job.id, job.priority, job.run_at, job.queue_position, own.slot
        from unnest(candidates) with ordinality as near(row_id, nth)
        join errand.job on job.ctid = near.row_id
        left join lateral (
            select existing.slot
            from errand.limit_slot as existing
            where existing.job_id = job.id and existing.limit_key = release_limit.limit_key
                and existing.queue_position = job.queue_position and existing.slot > 0
                and not exists (
                    select
                    from errand.limit_slot as newer
                    where newer.limit_key = existing.limit_key and newer.slot = existing.slot
                        and newer.admitted_at > existing.admitted_at)
            limit 1
        ) as own on true
        where wanted > 0
        order by near.nth
    loop
        exit when cardinality(given) - released = wanted;
        number := null;
        if asked.slot is not null and asked.slot <> all (given) then
            -- If the limit was lowered, it may run while fewer jobs run or wait in slots of lower numbers.
            if running + (select count(*) from unnest(waiting) as other where other < asked.slot) < most then
                number := asked.slot;
                if number = any (free) then
                    free := array_remove(free, number);
                elsif number <> all (taken) then
                    free := free[:cardinality(free) - 1];
                end if;
            else
                delete from errand.limit_slot as existing
                where existing.job_id = asked.id and existing.limit_key = release_limit.limit_key;
            end if;
        elsif asked.id <> all (replaced) then
            while free <> '{}'
                and (priorities[released + 1], run_ats[released + 1], parked_ids[released + 1])
                    < (asked.priority, asked.run_at, asked.id)
            loop
                released := released + 1;
                released_slots := released_slots || free[1];
                given := given || free[1];
                waiting := waiting || free[1];
                free := free[2:];
            end loop;
            if free <> '{}' then
                number := free[1];
                free := free[2:];
            else
                if holders is null then
                    open holders for
                    select live.ctid as row_id, live.id, live.priority, live.queue_position, newest.slot
                    from unnest(waiting) as slot(number)
                    cross join lateral (
                        select newest.*
                        from errand.limit_slot as newest
                        where newest.limit_key = release_limit.limit_key and newest.slot = slot.number
                        order by newest.admitted_at desc
                        limit 1
                    ) as newest
                    join errand.job as live on live.id = newest.job_id
                    -- Those that this claim has picked keep theirs.
                    where newest.admitted_at <= now()
                        and live.state = 'available' and live.crashes = 0 and live.is_handed_back is null
                    order by live.priority desc, live.queue_position desc;
                    fetch holders into behind;
                end if;
                while number is null
                    and (behind.priority, behind.queue_position) > (asked.priority, asked.queue_position)
                loop
                    perform
                    from errand.job
                    where ctid = behind.row_id and state = 'available' and behind.slot <> all (given)
                        and running + (select count(*) from unnest(waiting) as other where other < behind.slot) < most
                    for update skip locked;
                    if found then
                        number := behind.slot;
                        replaced := replaced || behind.id;
                        perform errand_internal.park(array[behind.row_id], array['limit:' || release_limit.limit_key]);
                    end if;
                    fetch holders into behind;
                end loop;
            end if;
        end if;
        slots := slots || coalesce(number, 0);
        if number is not null then
            given := given || number;
            if number <> all (waiting) then
                waiting := waiting || number;
            end if;
        end if;
    end loop;
    if holders is not null then
        close holders;
    end if;
    if highest > most then
        delete from errand.limit_slot as beyond
        where beyond.limit_key = release_limit.limit_key and beyond.slot > most
            and beyond.slot <> all (taken || given);
    end if;
    if wanted = 0 then
        released := least(coalesce(cardinality(parked_ids), 0), cardinality(free));
        released_slots := free[:released];
        free := free[released + 1:];
        slots := array(
            select case
                when free = '{}' and not exists (
                    select
                    from errand.limit_slot as slot
                    where slot.job_id = job.id and slot.limit_key = release_limit.limit_key
                        and slot.queue_position = job.queue_position)
                then 0
            end
            from unnest(candidates) with ordinality as near(row_id, nth)
            join errand.job on job.ctid = near.row_id
            order by near.nth);
    end if;
    if released > 0 then
        with gone as (
            update errand.job
            set state = 'available', parked_for = null
            from unnest(parked_ids[:released]) with ordinality as parked(id, nth)
            where job.id = parked.id
            returning parked.nth, job.queue_position
        )
        select array_agg(queue_position order by nth) into drawn from gone;
        if most is not null then
            perform errand_internal.take_slots(
                array_fill(release_limit.limit_key, array[released]), released_slots, parked_ids[:released], drawn);
        end if;
        perform errand_internal.mark_parked(release_limit.limit_key, last.priority, last.run_at, last.id)
        from (
            select distinct on (priority) *
            from unnest(priorities[:released], run_ats[:released], parked_ids[:released])
                with ordinality as parked(priority, run_at, id, nth)
            order by priority, nth desc) as last;
        released_ids := parked_ids[:released];
        perform errand_internal.wake();
    elsif slow <> '{}' and wanted = 0 then
        perform errand_internal.pass_parked(release_limit.limit_key);
    end if;
end
$$;
