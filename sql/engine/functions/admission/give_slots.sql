-- give_slots: gives slots to the jobs that run under new limits, once. Jobs under a key without a limit get none.
--
-- It needs that no claim is under way that may not have seen a limit: each holds errand.limits_lock in row exclusive
-- mode. Returns false if there is one and `waits` is false, or after 100 ms. A session that waits must not hold the
-- lock of errand_internal.lock_limits yet: such a claim may wait for that. The mode conflicts with itself: two sessions
-- that hold it and then ask for that lock would wait for each other. A limit whose row is locked is served once more.
create or replace function errand_internal.give_slots(waits boolean) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set lock_timeout = '100ms' as $$
declare
    given text[];
    running record;
begin
    begin
        if waits then
            lock table errand.limits_lock in share row exclusive mode;
        else
            lock table errand.limits_lock in share row exclusive mode nowait;
        end if;
    exception
        when lock_not_available then
            return false;
    end;
    -- One that is set from here on is left to the next call.
    given := array(select limit_key from errand.limit where not has_slots);
    for running in
        select existing.*
        from errand.claim
        cross join lateral (
            -- So that each is found by its id.
            select job.*, coalesce(job.limit_key, kind.limit_key) as key
            from errand.job
            left join errand.kind on kind.name = job.kind
            where job.id = any (claim.job_ids)
            offset 0
        ) as existing
        where existing.state = 'running' and existing.worker_id = claim.worker_id
            and (errand_internal.bound_of(existing.key)).limit_key = any (given)
            and not exists (
                select
                from errand.limit_slot as slot
                where slot.job_id = existing.id and slot.queue_position = existing.queue_position and slot.slot > 0)
    loop
        perform errand_internal.take_slots(
            array[running.key], array[errand_internal.highest_slot(running.key) + 1], array[running.id],
            array[running.queue_position]);
    end loop;
    update errand.limit set has_slots = true
    where ctid = any (array(select ctid from errand.limit where limit_key = any (given) for update skip locked));
    return true;
end
$$;
