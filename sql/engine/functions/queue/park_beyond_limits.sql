-- park_beyond_limits: parks those of the inserted jobs for which their limits have no room, so that no claim reads
-- them. An estimate without the lock of claims: jobs parked in excess are released within 200 ms.
create or replace function errand_internal.park_beyond_limits(ids bigint[], limited text[]) returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    -- One call for each key: a call for each job would read all that was parked before. A key under which no job runs
    -- or waits has all the room of its limit.
    with bound as materialized (
        select key, errand_internal.limit_of(key) as most
        from unnest(limited) as key
    ),
    -- One object, not a table: a join would compare each job with each key.
    room as materialized (
        select jsonb_object_agg(
            key,
            case
                when (
                    exists (select from errand.limit_slot as slot where slot.limit_key = key)
                    or exists (select from errand.job where parked_for = 'limit:' || key))
                    and errand_internal.limit_is_full(key)
                then 0
                else most
            end) as most
        from bound
        where most is not null
    ),
    asked as materialized (
        select added.id, added.limit_key, added.priority, added.queue_position,
            (room.most ->> added.limit_key)::int as most
        from room
        cross join unnest(ids) as one(id)
        join errand.job as added on added.id = one.id
        -- Not by the position: the planner could read the whole queue for it.
        where added.state = 'available' and room.most ? added.limit_key and (added.options ? 'order_key') is not true
    ),
    beyond as materialized (
        select id, limit_key
        from (
            select
                id, limit_key, most, row_number() over (partition by limit_key order by priority, queue_position) as nth
            from asked) as added
        where nth > most
    )
    update errand.job
    set state = 'parked', queue_position = null, parked_for = 'limit:' || beyond.limit_key
    from beyond
    where job.id = beyond.id
$$;
