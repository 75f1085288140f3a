-- admit: decides which of the jobs that a claim has locked may run now, and returns them in their order. All others
-- leave the queue, with one statement for each outcome: as obsolete if they are too late or their guard says no, as
-- parked if others of their order key come first, their kind is paused, their circuit is open or their limit is full,
-- as scheduled if they are over the rate of their key. blocked is their number.
--
-- At most begin_now jobs of limits and rates start, the first ones; begun is their number. Some jobs stay in the queue,
-- and rest says why: 'slots' = no more such jobs can start, 'more' = another session holds the lock of limits and order
-- keys, or the guards have taken 250 ms. With begin_now null no job starts and no guard is called: only those that
-- can't run leave.
--
-- Each limit key is evaluated once (errand_internal.release_limit), then the rates of all jobs that have got their
-- slots (errand_internal.admit_rated). may_lock and guards_end are for all calls of a claim: whether it may try to get
-- the limits' lock, which it does once, and when its guards have taken 250 ms.
create or replace function errand_internal.admit(
    candidates tid[], checked text[], begin_now int, inout may_lock boolean, inout guards_end timestamptz default null,
    out fit tid[], out begun int, out blocked int, out rest text
)
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    -- Of each candidate: 'obsolete', 'parked', 'reserved', 'failed', 'stays', or null = it may run. reasons has what it
    -- waits for.
    outcomes text[];
    reasons text[];
    limit_keys text[];
    rate_keys text[];
    rated text[];
    slots int[];
    has_guards boolean;
    are_ordered boolean[];
    guards_began timestamptz;
    asked int := 0;
    met record;
    free int[];
    given int[];
    room int;
    first_left int;
begin
    select
        array_agg(
            case when job.not_after < now() then 'obsolete' when down.name is not null then 'parked' end order by nth),
        array_agg(
            case when job.not_after < now() then 'not started by ' || job.not_after else 'circuit:' || down.name end
            order by nth),
        -- Jobs from before their kind's registration don't name its limit and rate.
        array_agg(coalesce(job.limit_key, kind.limit_key) order by nth),
        array_agg(coalesce(job.rate_key, kind.rate_key) order by nth),
        -- Slots that errand_internal.release_limits has given them in this transaction.
        array_agg(
            (
                select existing.slot
                from errand.limit_slot as existing
                where existing.job_id = job.id and existing.queue_position = job.queue_position
                    and existing.limit_key = job.limit_key and existing.slot > 0 and existing.admitted_at > now()
                    and (job.not_after < now()) is not true and down.name is null
                limit 1)
            order by nth),
        bool_or(job.guard is not null),
        array_agg(job.options ->> 'order_key' is not null and (job.not_after < now()) is not true order by nth)
    into outcomes, reasons, limit_keys, rate_keys, slots, has_guards, are_ordered
    from unnest(candidates) with ordinality as near(row_id, nth)
    left join errand.job on job.ctid = near.row_id
    left join errand.kind on kind.name = job.kind and kind.name = any (checked)
    cross join lateral (
        select min(circuit.name) as name
        from errand.circuit
        where circuit.name = any (kind.circuits || ('kind:' || kind.name)) and opened_at is not null
            -- The probe may run while the circuit is open.
            and (probe_job_id, probe_position) is distinct from (job.id, job.queue_position)) as down;
    if true = any (are_ordered) then
        select * into met from errand_internal.admit_order(candidates, are_ordered, may_lock);
        may_lock := met.may_lock;
        for index in 1..cardinality(candidates) loop
            if met.verdicts[index] is not null then
                outcomes[index] := met.verdicts[index];
                reasons[index] := met.reasons[index];
                slots[index] := null;
            end if;
        end loop;
        rest := case when 'stays' = any (outcomes) then 'more' end;
    end if;
    if has_guards and begin_now is not null then
        guards_began := clock_timestamp();
        guards_end := coalesce(guards_end, guards_began + interval '250 milliseconds');
        for met in
            select nth, job
            from unnest(candidates, outcomes) with ordinality as near(row_id, outcome, nth)
            join errand.job on job.ctid = near.row_id
            where near.outcome is null and job.guard is not null
            order by nth
        loop
            if clock_timestamp() > guards_end then
                perform errand_internal.record_slow_guard((met.job).guard, guards_began, asked);
                outcomes[met.nth] := 'stays';
            else
                outcomes[met.nth] := errand_internal.ask_before(met.job);
                asked := asked + 1;
            end if;
            slots[met.nth] := case when outcomes[met.nth] is null then slots[met.nth] end;
            reasons[met.nth] := format('guard %s said no', (met.job).guard);
        end loop;
        rest := case when 'stays' = any (outcomes) then 'more' end;
    end if;
    for met in
        select near.key, array_agg(near.row_id order by nth) as row_ids, array_agg(nth order by nth) as nths
        from unnest(candidates, outcomes, limit_keys, slots) with ordinality as near(row_id, outcome, key, slot, nth)
        where near.outcome is null and near.key is not null and near.slot is null
            and exists (select from errand.limit)
        group by near.key
        order by min(nth)
    loop
        continue when errand_internal.limit_of(met.key) is null;
        -- Jobs of other keys that come before all of these start first.
        room := begin_now - (select count(*) from unnest(slots[:met.nths[1]]) as slot where slot > 0);
        given := null;
        if room <= 0 then
            rest := coalesce(rest, 'slots');
        elsif may_lock and errand_internal.lock_limits() then
            select released.free, released.slots into free, given
            from errand_internal.release_limit(met.key, met.row_ids, coalesce(room, 0)) as released;
            -- The limit has been removed since.
            continue when free is null;
        else
            may_lock := false;
            rest := 'more';
        end if;
        for index in 1..cardinality(met.nths) loop
            slots[met.nths[index]] := given[index];
            reasons[met.nths[index]] := 'limit:' || met.key;
            outcomes[met.nths[index]] :=
                case when given[index] is null then 'stays' when given[index] = 0 then 'parked' end;
        end loop;
    end loop;
    if begin_now is not null then
        -- Several keys may have room for more than begin_now jobs.
        first_left := (
            select nth
            from unnest(slots) with ordinality as taken(slot, nth)
            where slot > 0
            order by nth
            offset begin_now
            limit 1);
        for index in coalesce(first_left, cardinality(slots) + 1)..cardinality(slots) loop
            if slots[index] is not null then
                slots[index] := null;
                outcomes[index] := 'stays';
            end if;
        end loop;
        if 'stays' = any (outcomes) then
            rest := coalesce(rest, 'slots');
        end if;
    end if;
    if exists (select from unnest(outcomes, rate_keys) as near(outcome, key) where outcome is null and key is not null)
        and exists (select from errand.key_rate)
    then
        may_lock := may_lock and errand_internal.lock_limits();
        if may_lock then
            rated := errand_internal.admit_rated(
                candidates, outcomes, rate_keys,
                begin_now - (
                    select count(*)
                    from unnest(outcomes, rate_keys, slots) as near(outcome, key, slot)
                    where outcome is null and slot > 0
                        and (key is null or errand_internal.rate_of(key) is null))::int);
            rest := coalesce(rest, case when 'stays' = any (rated) then 'slots' end);
        else
            rated := array(
                select case when outcome is null and key is not null then 'stays' end
                from unnest(outcomes, rate_keys) with ordinality as near(outcome, key, nth)
                order by nth);
            rest := 'more';
        end if;
        select
            array_agg(coalesce(nullif(rate_result, 'starts'), outcome) order by nth),
            array_agg(case when (rate_result <> 'starts') is not true then slot end order by nth)
        into outcomes, slots
        from unnest(outcomes, slots, rated) with ordinality as near(outcome, slot, rate_result, nth);
    end if;
    perform errand_internal.take_slots(array_agg(key), array_agg(slot), array_agg(job.id), array_agg(queue_position))
    from unnest(candidates, slots, limit_keys) as near(row_id, slot, key)
    join errand.job on job.ctid = near.row_id
    where slot > 0
    having count(*) > 0;
    perform errand_internal.move_obsolete(array_agg(row_id), array_agg(reason))
    from unnest(candidates, outcomes, reasons) as near(row_id, outcome, reason)
    where outcome = 'obsolete'
    having count(*) > 0;
    perform errand_internal.park(array_agg(row_id), array_agg(reason))
    from unnest(candidates, outcomes, reasons) as near(row_id, outcome, reason)
    where outcome = 'parked'
    having count(*) > 0;
    select array_agg(row_id order by nth) filter (where outcome is null), count(*) filter (where outcome <> 'stays'),
        count(*) filter (where slot > 0 or rate_result = 'starts')
    into fit, blocked, begun
    from unnest(candidates, outcomes, slots, rated) with ordinality
        as near(row_id, outcome, slot, rate_result, nth);
end
$$;
