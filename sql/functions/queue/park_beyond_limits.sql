-- park_beyond_limits: of jobs that were just added, parks those that their limits have no room for, so that no claim has to
-- read over them. A guess, without the lock that claims take: what is parked too many is released within 200 ms.
create or replace function errand.park_beyond_limits(ids bigint[], limited text[]) returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    -- Asked once a key: asked for each job it would read over all that was parked before.
    with room as materialized (
        select key, case when errand.limit_is_full(key) then 0 else errand.limit_of(key) end as most
        from unnest(limited) as key
    ),
    beyond as materialized (
        select id, limit_key
        from (
            select added.id, added.limit_key, room.most, row_number() over (
                partition by added.limit_key order by added.priority, added.line) as nth
            from unnest(ids) as one(id)
            join errand.job as added on added.id = one.id
            join room on room.key = added.limit_key
            -- Not by its position: that would be a reason to read all of the line.
            where added.state = 'available') as added
        where nth > most
    )
    update errand.job
    set state = 'parked', line = null, parked_for = 'limit:' || beyond.limit_key
    from beyond
    where job.id = beyond.id
$$;
comment on function errand.park_beyond_limits(bigint[], text[]) is
    'For errand.enqueue_many: parks jobs that their limits have no room for';
