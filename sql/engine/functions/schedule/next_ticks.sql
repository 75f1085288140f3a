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
    zone text := next_ticks.time_zone;
    every interval := errand_internal.schedule_interval(given);
    step bigint := extract(epoch from every) * 1000000;
    fields record;
    -- A schedule whose hours all match follows real time.
    is_real_time boolean;
    start timestamp;
    month timestamp;
    day timestamp;
    hour timestamp;
    before timestamp;
    behind timestamp;
    was interval;
    will interval;
    -- The hour of the last tick that is wanted.
    enough timestamp;
    found timestamptz[] := '{}';
    -- Ticks for a time that the clock skips; ticks at which it shows the expected time.
    leapt timestamptz[] := '{}';
    exact timestamptz[] := '{}';
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
    perform errand_internal.check_time_zone(zone);
    if every is not null then
        return query
        select moment, moment at time zone zone, null::text
        from (
            select timestamptz 'epoch'
                + (((extract(epoch from next_ticks.after) * 1000000)::bigint / step + number) * step)
                    * interval '1 microsecond' as moment
            from generate_series(1, next_ticks.count) as number
        ) as counted;
        return;
    end if;
    select * into fields from errand_internal.cron_read(given);
    is_real_time := cardinality(fields.hours) = 24;
    -- A clock that is set back shows earlier hours again: by at most three, since 1970.
    start := date_trunc('hour', next_ticks.after at time zone zone)
        - case when is_real_time then interval '4 hours' else interval '0' end;
    <<search>>
    for month in
        select date_trunc('month', start) + number * interval '1 month'
        from generate_series(0, 492) as number
        order by number
    loop
        continue when extract(month from month) <> all (fields.months);
        for day in
            select date
            from generate_series(month, month + interval '1 month - 1 day', '1 day') as date
            cross join lateral (
                select
                    extract(day from date)::int as day_of_month, extract(dow from date)::int as weekday,
                    extract(day from month + interval '1 month - 1 day')::int as days_in_month
            ) as existing
            cross join lateral (
                select
                    day_of_month = any (fields.days)
                        or day_of_month - days_in_month - 1 = any (fields.days) as by_month,
                    weekday = any (fields.weekdays)
                        or weekday + 10 * ((day_of_month + 6) / 7) = any (fields.weekdays)
                        or (day_of_month + 7 > days_in_month and weekday + 60 = any (fields.weekdays)) as by_week
            ) as matching
            where date >= date_trunc('day', start)
                and case when fields.either_day then by_month or by_week else by_month and by_week end
            order by date
        loop
            for hour in
                select day + value * interval '1 hour' from unnest(fields.hours) as value order by value
            loop
                continue when hour < start;
                exit search when enough is not null
                    and (not is_real_time or was = will or hour > enough + interval '4 hours');
                -- The clock's offset from UTC, a day before this hour and a day after it.
                before := hour - interval '24 hours';
                was := (before at time zone 'UTC' at time zone zone) - before;
                behind := hour + interval '25 hours';
                will := (behind at time zone 'UTC' at time zone zone) - behind;
                with meant as (
                    select hour + minute * interval '1 minute' + second * interval '1 second' as shown
                    from unnest(fields.minutes) as minute
                    cross join unnest(fields.seconds) as second
                ),
                moments as (
                    select shown, shown at time zone 'UTC' - was as moment
                    from meant
                    where was = will
                    union all
                    select shown, shown at time zone 'UTC' - shift
                    from meant
                    cross join unnest(array[was, will]) as shift
                    where was <> will and is_real_time and (shown at time zone 'UTC' - shift) at time zone zone = shown
                    union all
                    select shown, errand_internal.clock_first_shows(shown, zone)
                    from meant
                    where was <> will and not is_real_time
                        -- A day that is skipped as a whole has no ticks.
                        and errand_internal.clock_first_shows(day, zone) at time zone zone < day + interval '1 day'
                )
                select
                    array(select distinct one from unnest(found || array_agg(moment)) as one),
                    leapt || array_agg(moment) filter (where was <> will and moment at time zone zone <> shown),
                    exact || array_agg(moment) filter (where was <> will and moment at time zone zone = shown)
                into found, leapt, exact
                from moments
                where moment > next_ticks.after;
                if enough is null and cardinality(found) >= next_ticks.count then
                    enough := hour;
                end if;
            end loop;
        end loop;
    end loop;
    return query
    select
        one.moment, one.shown,
        case
            when one.moment = any (leapt) and one.moment <> all (exact) then
                'clocks go forward from ' || errand_internal.time_of_day(one.moment at time zone 'UTC' + one.was)
                || ' to ' || errand_internal.time_of_day(one.shown) || ': what lies between runs now'
            when one.was > one.will and (one.moment + (one.was - one.will)) at time zone zone = one.shown then
                'clocks go back: ' || errand_internal.time_of_day(one.shown) || ' comes twice, this is the first'
            when one.was > one.will and (one.moment - (one.was - one.will)) at time zone zone = one.shown then
                'clocks went back: ' || errand_internal.time_of_day(one.shown) || ' comes twice, this is the second'
        end
    from (
        select
            moment, moment at time zone zone as shown,
            (earlier at time zone zone) - (earlier at time zone 'UTC') as was,
            (later at time zone zone) - (later at time zone 'UTC') as will
        from unnest(found) as moment
        cross join lateral (
            select moment - interval '24 hours' as earlier, moment + interval '24 hours' as later
        ) as around
        order by moment
        limit next_ticks.count
    ) as one
    order by one.moment;
end
$$;
