-- enqueue_parts: errand.enqueue_many of the front: enqueues each job on the cell of its routing key.
--
-- Jobs without a key all go to one cell. So a call without keys is all or none, as on a cell; with keys, the part of
-- each cell is. If some wait for others or are of a batch, all go to the cell of those. Returns the rows in the order
-- of the jobs. Raises ER422 if such a call has jobs or keys of two cells.
create or replace function errand_front.enqueue_parts(jobs jsonb)
returns table (ordinal int, job_id bigint, inserted boolean, state text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    anywhere constant int := errand_front.route(null, null, null);
    partitions int[];
    parts jsonb[];
    ordinals jsonb;
begin
    -- The cell explains what is wrong with an argument that is no array of objects.
    if jsonb_typeof(jobs) is distinct from 'array' or nullif(current_setting('errand.cell', true), '') is not null
        or nullif(current_setting('errand.routing_key', true), '') is not null
        or not jobs @? '$[*] ? (exists (@.unique_key) || exists (@.limit_key) || exists (@.rate_key)
            || exists (@.tags) || exists (@.after) || exists (@.order_key) || exists (@.batch))'
        or jobs @? 'strict $[*] ? (@.type() != "object")'
    then
        return query
        select added.ordinal, added.job_id, added.inserted, added.state
        from errand_front.enqueue_split(array[anywhere], array[coalesce(jobs, 'null')]) as added
        order by added.ordinal;
        return;
    end if;
    if jobs @? '$[*] ? (exists (@.after) || exists (@.after_elements) || exists (@.batch))' then
        select array_agg(distinct partition) into partitions
        from (
            select unnest(errand_front.partitions_of_ids(array_agg(id::bigint))) as partition
            from (
                select * from jsonb_path_query(jobs, '$[*].after[*]')
                union
                select * from jsonb_path_query(jobs, '$[*].batch')) as named(id)
            where jsonb_typeof(id) = 'number'
            having count(*) > 0
            union
            select errand_front.route(
                value ->> 'unique_key', value ->> 'limit_key', null, rate_key => value ->> 'rate_key',
                order_key => value ->> 'order_key')
            from jsonb_array_elements(jobs)
            where value ?| '{unique_key,limit_key,rate_key,order_key}') as named;
        if cardinality(partitions) > 1 then
            raise exception 'enqueue_many: expected jobs and keys of one cell, as some wait for others or '
                'are of a batch, got of several'
                using errcode = 'ER422',
                hint = 'Enqueue all of them with the same setting errand.routing_key, or errand.cell.';
        end if;
        return query
        select added.ordinal, added.job_id, added.inserted, added.state
        from errand_front.enqueue_split(array[coalesce(partitions[1], anywhere)], array[jobs]) as added
        order by added.ordinal;
        return;
    elsif jobs @? '$[*].unique_key' then
        perform errand_front.share_routes();
    end if;
    with element as (
        select value, ordinality,
            coalesce(
                value ->> 'unique_key', value ->> 'order_key', value ->> 'limit_key', value ->> 'rate_key',
                value #>> '{tags,0}') as key
        from jsonb_array_elements(jobs) with ordinality
    ),
    placed as (
        select
            element.value, element.ordinality,
            case
                when element.key is null then anywhere
                -- A key that is moving to another cell: errand_front.route knows where it is.
                -- One with two keys has to find both in one cell.
                when slot.was is not null or element.value ?& '{unique_key,order_key}' then errand_front.route(
                    element.value ->> 'unique_key', element.value ->> 'limit_key',
                    array[element.value #>> '{tags,0}'], rate_key => element.value ->> 'rate_key',
                    order_key => element.value ->> 'order_key')
                else cell.partition
            end as partition
        from element
        left join errand_front.slot on slot.slot = hashtextextended(element.key, 0) & 1023
        left join errand_front.cell on cell.cell = slot.cell
        -- In the order in which all sessions lock slots.
        order by slot.slot, element.ordinality
    ),
    part as (
        select
            partition, jsonb_agg(value order by ordinality) as part,
            jsonb_agg(ordinality order by ordinality) as ordinals
        from placed
        group by partition
    )
    select array_agg(partition), array_agg(part), jsonb_object_agg(partition, part.ordinals)
    into partitions, parts, ordinals
    from part;
    return query
    select (ordinals -> added.partition::text ->> added.ordinal - 1)::int, added.job_id, added.inserted, added.state
    from errand_front.enqueue_split(partitions, parts) as added
    order by 1;
end
$$;
