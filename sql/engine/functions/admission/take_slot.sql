-- take_slot: gives a slot of a limit to a job in the queue. The caller holds the lock of errand.lock_limits.
--
-- The previous row of the slot is deleted unless errand.prune_v1 has locked it: of several rows the newest counts. If
-- its job waits for a worker, it gets the slot 0: see errand.slot_holders.
create or replace function errand.take_slot(limit_key text, slot int, job_id bigint, queue_position bigint) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
    before errand.limit_slot;
    row_id tid;
begin
    select known.job_id, known.queue_position, known.admitted_at, known.ctid
    into before.job_id, before.queue_position, before.admitted_at, row_id
    from errand.limit_slot as known
    where known.limit_key = take_slot.limit_key and known.slot = take_slot.slot
    order by known.admitted_at desc
    limit 1;
    if found then
        delete from errand.limit_slot
        where ctid = (select ctid from errand.limit_slot where ctid = row_id for update skip locked);
        insert into errand.limit_slot (limit_key, slot, admitted_at, job_id, queue_position)
        select take_slot.limit_key, 0, before.admitted_at, job.id, job.queue_position
        from errand.job
        where job.id = before.job_id and job.queue_position = before.queue_position and job.state = 'available'
            and job.id <> take_slot.job_id
        on conflict on constraint limit_slot_pkey do nothing;
    end if;
    -- Of the time when it waited.
    delete from errand.limit_slot as known
    where known.job_id = take_slot.job_id and known.queue_position = take_slot.queue_position
        and known.limit_key = take_slot.limit_key and known.slot = 0;
    insert into errand.limit_slot (limit_key, slot, admitted_at, job_id, queue_position)
    values (
        take_slot.limit_key, take_slot.slot, greatest(clock_timestamp(), before.admitted_at + interval '1 microsecond'),
        take_slot.job_id, take_slot.queue_position);
end
$$;
