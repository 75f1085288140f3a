-- begin_order: lets new and retried jobs with an order key, which are parked for it, join it. The first of each key
-- becomes available, if no other one comes before it.
--
-- A job that ends in this moment may not see those that stay parked. So maintenance looks at their keys once more.
create or replace function errand_internal.begin_order(ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    joined bigint[];
    keys text[];
    first bigint[];
begin
    select array_agg(near.id), array_agg(near.order_key) into joined, keys
    from unnest(begin_order.ids) as asked(id)
    -- By its id: a join might read all that is parked.
    cross join lateral (
        select id, options ->> 'order_key' as order_key, parked_for from errand.job where job.id = asked.id offset 0
    ) as near
    where starts_with(near.parked_for, 'order:');
    if joined is null then
        return;
    end if;
    insert into errand.order_job (order_key, job_id)
    select key, id from unnest(keys, joined) as one(key, id)
    on conflict do nothing;
    first := array(
        select next.id
        from (select key, array_agg(id) as ids from unnest(keys, joined) as one(key, id) group by key) as asked
        cross join lateral (
            select coalesce(
                (select slot.job_id from errand.order_slot as slot where slot.order_key = asked.key),
                (select min(other.job_id) from errand.order_job as other where other.order_key = asked.key)) as id
        ) as next
        where next.id = any (asked.ids));
    -- The transaction id comes before the position: see errand_internal.requeue.
    perform pg_current_xact_id();
    update errand.job set state = 'available', parked_for = null where id = any (first);
    insert into errand.order_check (order_key)
    select distinct key from unnest(keys, joined) as one(key, id) where id <> all (first);
end
$$;
