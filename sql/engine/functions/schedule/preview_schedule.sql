-- preview_schedule: returns the next ticks of a schedule, oldest first. For a paused one, the ticks that it would have.
--
--   select * from errand.preview_schedule('quote_of_the_day', 3);
--
-- They are computed by the call, as by errand.next_ticks, whether or not a scheduler runs. Raises ER404 for an unknown
-- schedule, ER422 for a count outside of 1 to 1,000.
-- errand: for ops, monitor
-- errand: topic schedules
create or replace function errand.preview_schedule(name text, count int default 10, after timestamptz default now())
returns table (tick timestamptz, local timestamp, note text)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing record;
begin
    select cron, time_zone into existing from errand.schedules where name = preview_schedule.name;
    if not found then
        perform errand_internal.check_known_schedule('preview_schedule', preview_schedule.name);
    end if;
    return query
    select coming.tick, coming.local, coming.note
    from errand.next_ticks(
        existing.cron, existing.time_zone, preview_schedule.after, preview_schedule.count) as coming;
end
$$;
