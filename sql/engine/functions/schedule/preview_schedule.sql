-- preview_schedule: returns the next ticks of a schedule, oldest first. For a paused one, the ticks that it would have.
--
--   select * from errand.preview_schedule('daily_report', 3);
--
-- The first ones are those that are planned, so they are what will happen; later ones and those of the past are
-- computed, as by errand.next_ticks. Raises ER404 for an unknown schedule, ER422 for a count outside of 1 to 1,000.
-- errand: for ops, monitor
-- errand: topic schedules
create or replace function errand.preview_schedule(name text, count int default 10, after timestamptz default now())
returns table (tick timestamptz, local timestamp, note text)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing record;
begin
    select status.cron, status.time_zone, stored.last_tick, plan.ticks, plan.locals
    into existing
    from errand.schedules as status
    join errand.schedule as stored on stored.name = status.name
    left join errand.schedule_plan as plan on plan.schedule = status.name
    where status.name = preview_schedule.name;
    if not found then
        perform errand_internal.check_known_schedule('preview_schedule', preview_schedule.name);
    end if;
    return query
    with computed as materialized (
        select coming.tick, coming.local, coming.note
        from errand.next_ticks(
            existing.cron, existing.time_zone, preview_schedule.after, preview_schedule.count) as coming
    ),
    planned as materialized (
        select plan.tick, plan.local
        from unnest(existing.ticks, existing.locals) as plan (tick, local)
        where plan.tick > greatest(existing.last_tick, preview_schedule.after)
    )
    select
        planned.tick, planned.local,
        case
            when computed.tick is null then 'planned by rules of the time zone that have changed'
            else computed.note
        end
    from planned
    left join computed on computed.tick = planned.tick
    union all
    select computed.tick, computed.local, computed.note
    from computed
    where computed.tick <= existing.last_tick
        or computed.tick > coalesce((select max(planned.tick) from planned), '-infinity')
    order by 1
    limit preview_schedule.count;
end
$$;
