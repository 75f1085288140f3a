-- prune_ticks: deletes ticks from 7 days ago, up to 10,000 in a call. The newest tick of each schedule stays.
create or replace function errand_internal.prune_ticks() returns int
language sql set search_path = pg_catalog, errand, pg_temp as $$
    with old as (
        select past.schedule, past.tick
        from errand.tick as past
        left join errand.schedule as existing on existing.name = past.schedule
        where past.tick < now() - interval '7 days'
            and (existing.name is null or past.tick < existing.last_tick)
        order by past.tick
        limit 10000
    ),
    gone as (
        delete from errand.tick as past
        using old
        where past.schedule = old.schedule and past.tick = old.tick
        returning 1
    )
    select count(*)::int from gone
$$;
