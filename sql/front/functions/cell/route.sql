-- route: the rule of the front: returns the partition of the cell that takes a job.
--
-- The cell that the setting errand.cell names; else that of the routing key, which is the first of
--   the setting errand.routing_key, the unique key, the order key, the limit's key, the rate's key, the first tag
-- Jobs with the same key go to the same cell, so a unique key is unique, and an order, a limit or a rate holds. A job
-- without a key goes to any active cell.
--
-- Keys move to another cell when a cell is added or drained. While the former cell still has a job with the unique key,
-- the key stays there. Enqueues of keys of that slot wait for each other then, until the end of the caller's
-- transaction.
--
-- A job that waits for others (after) goes to their cell, and one of a batch to the batch's. Raises ER422 if those are
-- two cells, or if its unique key, order key, limit or rate belongs to another one, and if its unique key and its order
-- key belong to two; ER503 if no cell is active, and 55P03 after a wait of 5 s.
create or replace function errand_front.route(
    unique_key text, limit_key text, tags text[], after bigint[] default null, rate_key text default null,
    order_key text default null, batch bigint default null
) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    key constant text := coalesce(
        nullif(current_setting('errand.routing_key', true), ''), route.unique_key, route.order_key, route.limit_key,
        route.rate_key, route.tags[1]);
    named constant bigint[] := array_remove(route.after || route.batch, null);
    target record;
    parents int[];
    own int;
begin
    if nullif(current_setting('errand.cell', true), '') is not null then
        return errand_front.chosen_partition();
    elsif named <> '{}' then
        parents := array(
            select distinct partition from unnest(errand_front.partitions_of_ids(named)) as partition);
        own := case
            when num_nonnulls(route.unique_key, route.limit_key, route.rate_key, route.order_key) > 0
                then errand_front.route(
                    route.unique_key, route.limit_key, null, rate_key => route.rate_key, order_key => route.order_key)
        end;
        if cardinality(parents) > 1 or own <> parents[1] then
            raise exception 'enqueue: after: expected jobs of one cell, which has the keys and the limit, got jobs, a '
                'batch or keys of several'
                using errcode = 'ER422',
                hint = 'Enqueue all of them with the same setting errand.routing_key, or errand.cell.';
        end if;
        return parents[1];
    elsif key is null then
        select partition, null::int as former into target
        from errand_front.cell
        where state = 'active'
        order by random()
        limit 1;
    else
        if route.unique_key is not null then
            perform errand_front.share_routes();
        end if;
        select cell.partition, was.partition as former into target
        from errand_front.slot
        join errand_front.cell using (cell)
        left join errand_front.cell as was on was.cell = slot.was
        where slot.slot = hashtextextended(key, 0) & 1023;
    end if;
    -- With the setting, the caller sees to it.
    if num_nonnulls(route.unique_key, route.order_key) = 2
        and nullif(current_setting('errand.routing_key', true), '') is null
        and target.partition <> errand_front.route(null, null, null, order_key => route.order_key)
    then
        raise exception 'enqueue: order_key: expected one of the cell of the unique key, got one of another'
            using errcode = 'ER422',
            hint = 'Enqueue all jobs of the order key with the same setting errand.routing_key, or errand.cell.';
    end if;
    if target.partition is null then
        raise exception 'enqueue: no cell takes jobs' using errcode = 'ER503', hint = 'Add one: `errand cells add`.';
    elsif key is not null and target.former is not null and route.unique_key is not null then
        perform errand_front.lock_slot(key);
        if exists (select from errand_front.taken_keys_at(target.former, array[route.unique_key])) then
            return target.former;
        end if;
    end if;
    return target.partition;
end
$$;
