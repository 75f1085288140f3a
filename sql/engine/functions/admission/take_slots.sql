-- take_slots: gives slots of limits to jobs in the queue: the first number of the first key to the first job, and so
-- on. The caller holds the lock of errand_internal.lock_limits.
--
-- The previous row of a slot is deleted unless errand_internal.prune has locked it: of several rows the newest
-- counts. If its job waits for a worker, it gets the slot 0: see errand_internal.slot_holders. A job keeps the row that
-- it has got in this transaction.
create or replace function errand_internal.take_slots(
    limit_keys text[], slots int[], job_ids bigint[], positions bigint[]
) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
    -- Its steps see the rows of before, and each row is written once.
    with given as materialized (
        select given.*, previous.admitted_at, previous.job_id as previous_id,
            previous.queue_position as previous_position, previous.row_id
        from unnest(limit_keys, slots, job_ids, positions) as given(limit_key, slot, job_id, queue_position)
        left join lateral (
            select existing.*, existing.ctid as row_id
            from errand.limit_slot as existing
            where existing.limit_key = given.limit_key and existing.slot = given.slot
            order by existing.admitted_at desc
            limit 1
        ) as previous on true
        where (previous.job_id, previous.queue_position) is distinct from (given.job_id, given.queue_position)
            or previous.admitted_at <= now()
    ),
    removed as (
        delete from errand.limit_slot
        where ctid = any (array(
            select existing.ctid
            from errand.limit_slot as existing
            where existing.ctid = any (array(
                select row_id from given
                union all
                -- Of the time when it waited.
                select waited.ctid
                from given
                join errand.limit_slot as waited on waited.job_id = given.job_id
                where waited.queue_position = given.queue_position and waited.limit_key = given.limit_key
                    and waited.slot = 0))
            for update skip locked))
    )
    insert into errand.limit_slot (limit_key, slot, admitted_at, job_id, queue_position)
    select limit_key, slot, greatest(clock_timestamp(), admitted_at + interval '1 microsecond'), job_id, queue_position
    from given
    union all
    select given.limit_key, 0, given.admitted_at, job.id, job.queue_position
    from given
    join errand.job on job.id = given.previous_id and job.queue_position = given.previous_position
    where job.state = 'available' and job.id <> all (job_ids)
    on conflict on constraint limit_slot_pkey do nothing;
end
$$;
