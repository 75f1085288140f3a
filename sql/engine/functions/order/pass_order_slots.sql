-- pass_order_slots: passes the slots of order keys, whose jobs have ended, to the next job of each: the lowest id of
-- those that have joined, among committed ones. A key without such a job has no slot any more. The caller has locked
-- the slots.
--
-- A statement after that lock sees each job that has joined until then. What joins later sees the slot, or asks for a
-- look at the key (errand.order_check).
create or replace function errand_internal.pass_order_slots(keys text[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    heads bigint[];
begin
    heads := array(
        select (select min(joined.job_id) from errand.order_job as joined where joined.order_key = asked.key)
        from unnest(pass_order_slots.keys) with ordinality as asked(key, nth)
        order by nth);
    update errand.order_slot as slot
    set job_id = next.id, blocked_at = null
    from unnest(pass_order_slots.keys, heads) as next(key, id)
    where slot.order_key = next.key and next.id is not null;
    if array_position(heads, null) is not null then
        delete from errand.order_slot as slot
        using unnest(pass_order_slots.keys, heads) as next(key, id)
        where slot.order_key = next.key and next.id is null;
    end if;
    perform errand_internal.release_heads(pass_order_slots.keys);
end
$$;
