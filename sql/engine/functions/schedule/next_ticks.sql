-- next_ticks: returns the next ticks of a cron expression or of `every 30 s`, oldest first, to check it before
-- errand.put_schedule.
--
--   select * from errand.next_ticks('30 2 * * *', 'Europe/Paris', '2026-10-24 00:00+00', 3);
--
-- note explains a tick where clocks change. The ticks are computed from PostgreSQL's own time-zone data, by the rules
-- of the schedulers. Returns fewer rows if there are no more ticks within 41 years. Costs some milliseconds. Raises
-- ER422 for an invalid schedule, and for a count outside of 1 to 1,000.
-- errand: for ops, monitor
-- errand: topic schedules
create or replace function errand.next_ticks(
    cron text, time_zone text default 'UTC', after timestamptz default now(), count int default 10
) returns table (tick timestamptz, local timestamp, note text)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    given text := btrim(regexp_replace(next_ticks.cron, E'\\s+', ' ', 'g'));
    every interval := errand_internal.schedule_interval(given);
begin
    if next_ticks.count is null or next_ticks.count not between 1 and 1000 then
        raise exception 'count: expected 1 to 1000, got %', coalesce(next_ticks.count::text, 'null')
            using errcode = 'ER422';
    elsif next_ticks.after is null
        or next_ticks.after not between timestamptz '1970-01-01 00:00+00' and timestamptz '2199-12-31 00:00+00'
    then
        raise exception 'after: expected a time from 1970 to 2199, got %', coalesce(next_ticks.after::text, 'null')
            using errcode = 'ER422';
    end if;
    perform errand_internal.check_time_zone(next_ticks.time_zone);
    return query
    select
        coming.tick, coming.local,
        case
            when every is not null then null
            when coming.was_skipped then
                'clocks go forward from ' || errand_internal.time_of_day(coming.tick at time zone 'UTC' + was)
                || ' to ' || errand_internal.time_of_day(coming.local) || ': what lies between runs now'
            when was > will and (coming.tick + (was - will)) at time zone time_zone = coming.local then
                'clocks go back: ' || errand_internal.time_of_day(coming.local) || ' comes twice, this is the first'
            when was > will and (coming.tick - (was - will)) at time zone time_zone = coming.local then
                'clocks went back: ' || errand_internal.time_of_day(coming.local) || ' comes twice, this is the second'
        end
    from errand_internal.coming_ticks(
        given, every, next_ticks.time_zone, next_ticks.after, next_ticks.count) as coming
    cross join lateral (
        select coming.tick - interval '24 hours' as earlier, coming.tick + interval '24 hours' as later
    ) as around
    cross join lateral (
        select
            (earlier at time zone time_zone) - (earlier at time zone 'UTC') as was,
            (later at time zone time_zone) - (later at time zone 'UTC') as will
    ) as shift
    order by coming.tick;
end
$$;
