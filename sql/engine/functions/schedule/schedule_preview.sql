-- schedule_preview: when a schedule ticks next, oldest first; while it is paused, when it would.
--
--   select * from errand.schedule_preview('quote_of_the_day', 3);
--
-- Computed when asked, as errand.next_ticks does, whether or not a scheduler runs. Raises ER404 where there is no such
-- schedule, ER422 for a count beyond 1 to 1,000.
create or replace function errand.schedule_preview(name text, count int default 10, after timestamptz default now())
returns table (tick timestamptz, local timestamp, note text)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    held record;
begin
    select cron, time_zone into held from errand.schedule_status where name = schedule_preview.name;
    if not found then
        raise exception 'schedule_preview: there is no schedule %', quote_nullable(schedule_preview.name)
            using errcode = 'ER404';
    end if;
    return query
    select coming.tick, coming.local, coming.note
    from errand.next_ticks(
        held.cron, held.time_zone, schedule_preview.after, schedule_preview.count) as coming;
end
$$;
comment on function errand.schedule_preview(text, int, timestamptz) is
    'When a schedule ticks next. Example: select * from errand.schedule_preview(''nightly'', 3)';
