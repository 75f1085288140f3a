-- swap_slot: parks a released job again that comes after this one and runs on no worker yet. Returns its slot, which
-- the caller gives to this one, or null if there is no such job. It was released while this one waited in its queue
-- without a slot.
--
-- If the limit was lowered since, only slots count whose jobs might still run: the lowest, as many as `most` leaves
-- beside the running ones.
--
-- The caller is a claim and holds the lock of errand.lock_limits. Jobs that this claim has picked keep their slots:
-- each got its slot, or got it once more, after the claim began.
create or replace function errand.swap_slot(job errand.job, most int) returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    number int;
    behind errand.job;
begin
    for number in
        with taken as materialized (select * from errand.taken_slots(job.limit_key))
        select slot
        from taken
        where not is_running
        order by slot
        limit greatest(0, most - (select count(*) from taken where is_running))
    loop
        select live.* into behind
        from (
            select held.job_id, held.admitted_at
            from errand.limit_slot as held
            where held.limit_key = job.limit_key and held.slot = number
            order by held.admitted_at desc
            limit 1
        ) as newest
        join errand.job as live on live.id = newest.job_id
        where newest.admitted_at <= now()
            and live.state = 'available' and live.crashes = 0 and live.is_handed_back is null
            and (live.priority > job.priority
                or live.priority = job.priority and live.queue_position > job.queue_position)
        for update of live skip locked;
        if found then
            perform errand.park(behind.id, 'limit:' || job.limit_key);
            perform errand.lower_mark(job.limit_key, behind.priority, behind.run_at, behind.id);
            return number;
        end if;
    end loop;
    return null;
end
$$;
