-- begin_wait: makes new and retried jobs wait for their parents, which their options name. Those whose parents have all
-- ended are available at once.
--
-- A parent that ends in this moment may not see its child. So maintenance checks each that waits once more
-- (errand.flow_check).
create or replace function errand_internal.begin_wait(ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    -- First the lock, then the count: see errand_internal.stop_flows.
    lock table errand.flow_check in row exclusive mode;
    perform nextval('errand.flows_begun');
    update errand.job
    set state = 'parked', queue_position = null, parked_for = 'job:' || (options #>> '{after,-1}')
    where id = any (begin_wait.ids) and starts_with(parked_for, 'job:') is not true;
    -- Of many, maintenance decides about the others.
    perform errand_internal.parents_ended(released.cancelled, releases => false)
    from errand_internal.release_children(begin_wait.ids[:1000]) as released;
    -- Jobs of their order keys, which they may wait for, come next.
    perform errand_internal.order_ended(waiting.keys, waiting.ids, releases => false)
    from (
        select array_agg(id) as ids, array_agg(options ->> 'order_key') as keys
        from errand.job
        where id = any (begin_wait.ids) and starts_with(parked_for, 'job:') and options ? 'order_key'
    ) as waiting
    where waiting.ids is not null;
    insert into errand.flow_check (child_id)
    select id from errand.job where id = any (begin_wait.ids) and starts_with(parked_for, 'job:');
end
$$;
