-- take_slot: gives a slot of a limit to a job in the queue. The caller holds the lock of errand.lock_limits.
--
-- The previous row of the slot is deleted unless errand.prune_v1 has locked it: of several rows the newest counts.
create or replace function errand.take_slot(limit_key text, slot int, job_id bigint, queue_position bigint) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
    before timestamptz;
    row_id tid;
begin
    select known.admitted_at, known.ctid into before, row_id
    from errand.limit_slot as known
    where known.limit_key = take_slot.limit_key and known.slot = take_slot.slot
    order by known.admitted_at desc
    limit 1;
    if found then
        delete from errand.limit_slot
        where ctid = (select ctid from errand.limit_slot where ctid = row_id for update skip locked);
    end if;
    insert into errand.limit_slot (limit_key, slot, admitted_at, job_id, queue_position)
    values (
        take_slot.limit_key, take_slot.slot, greatest(clock_timestamp(), before + interval '1 microsecond'),
        take_slot.job_id, take_slot.queue_position);
end
$$;
comment on function errand.take_slot(text, int, bigint, bigint) is 'Gives a slot of a limit to a job in the queue';
