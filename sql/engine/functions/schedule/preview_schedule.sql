-- preview_schedule: returns the next ticks of a schedule, oldest first. For a paused one, the ticks that it would have.
--
--   select * from errand.preview_schedule('daily_report', 3);
--
-- run_at is the tick and its jitter: the earliest start of its job; null on a day without ticks, and note says why.
--
-- The first ones are those that are planned, so they are what will happen; later ones and those of the past are
-- computed, as by errand.next_ticks. Raises ER404 for an unknown schedule, ER422 for a count outside of 1 to 1,000.
-- errand: for ops, monitor
-- errand: topic schedules
create or replace function errand.preview_schedule(name text, count int default 10, after timestamptz default now())
returns table (tick timestamptz, local timestamp, note text, run_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.schedule;
    plan errand.schedule_plan;
begin
    select * into existing from errand.schedule as stored where stored.name = preview_schedule.name;
    if not found then
        perform errand_internal.check_known_schedule('preview_schedule', preview_schedule.name);
    end if;
    select * into plan from errand.schedule_plan as stored where stored.schedule = preview_schedule.name;
    return query
    with computed as materialized (
        select
            coming.tick, coming.local, coming.note, existing.exceptions ->> coming.local::date::text as exception
        from errand.next_ticks(
            (select status.cron from errand.schedules as status where status.name = existing.name),
            existing.time_zone,
            greatest(preview_schedule.after, existing.starts_at - interval '1 microsecond'),
            preview_schedule.count) as coming
        where (coming.tick >= existing.ends_at) is not true
    ),
    planned as materialized (
        select coming.tick, coming.local
        from unnest(plan.ticks, plan.locals) as coming (tick, local)
        where coming.tick > greatest(existing.last_tick, preview_schedule.after) and coming.tick < 'infinity'
    ),
    shown as (
        select
            planned.tick, planned.local,
            case
                when computed.tick is null then 'planned by rules of the time zone that have changed'
                else computed.note
            end as note,
            null as exception
        from planned
        left join computed on computed.tick = planned.tick
        union all
        select computed.tick, computed.local, computed.note, computed.exception
        from computed
        where computed.tick <= existing.last_tick or computed.exception is not null
            or computed.tick > coalesce((select max(planned.tick) from planned), '-infinity')
        order by 1
        limit preview_schedule.count
    )
    select
        shown.tick, shown.local, coalesce('no job: ' || shown.exception, shown.note),
        case
            when shown.exception is null then shown.tick + errand_internal.jitter_of(existing, shown.tick)
        end
    from shown
    order by shown.tick;
end
$$;
