-- order_ended: tells the order keys of jobs that have ended, or that wait for something else first: the next job of
-- each key may run. Up to 1,000 keys go on at once, and maintenance looks at others (errand_internal.check_orders).
-- Whatever ends a job with an order key calls it, after the job has left errand.job. keys and ids have an element for
-- each job.
--
-- Locks slots and jobs that are parked for the keys, and waits for no lock: maintenance passes a slot on that another
-- session has locked. A caller that may wait for other jobs
-- afterwards leaves all to maintenance (releases). So does one in an older snapshot, which doesn't show all that wait.
create or replace function errand_internal.order_ended(keys text[], ids bigint[], releases boolean default true)
returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant int := 1000;
    free text[];
begin
    delete from errand.order_job as joined
    using unnest(order_ended.keys, order_ended.ids) as ended(key, id)
    where joined.order_key = ended.key and joined.job_id = ended.id;
    if not releases or current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        insert into errand.order_check (order_key) select distinct key from unnest(order_ended.keys) as key;
        return;
    end if;
    free := array(
        select slot.order_key
        from unnest(order_ended.keys[:most], order_ended.ids[:most]) as ended(key, id)
        join errand.order_slot as slot on slot.order_key = ended.key and slot.job_id = ended.id
        order by slot.order_key
        for update of slot skip locked);
    if free <> '{}' then
        perform errand_internal.pass_order_slots(free);
    end if;
    -- One that did not have the slot may be given it in this moment.
    insert into errand.order_check (order_key)
    select distinct key from unnest(order_ended.keys) as key where key <> all (free);
end
$$;
