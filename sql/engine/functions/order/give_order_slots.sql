-- give_order_slots: gives the slots of order keys that have none to the next job of each: the lowest id of those that
-- have joined, among committed ones. The caller holds the lock of errand_internal.lock_limits, so no two sessions give
-- the same slot.
create or replace function errand_internal.give_order_slots(keys text[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    insert into errand.order_slot (order_key, job_id)
    select asked.key, head.id
    from unnest(give_order_slots.keys) as asked(key)
    cross join lateral (
        select min(joined.job_id) as id from errand.order_job as joined where joined.order_key = asked.key
    ) as head
    where head.id is not null
    on conflict do nothing;
    perform errand_internal.release_heads(give_order_slots.keys);
end
$$;
