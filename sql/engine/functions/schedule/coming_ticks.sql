-- coming_ticks: returns the next ticks of a schedule's times, oldest first: all rules of a clock that changes are here.
--
-- A tick is later than after. For a cron expression on the clock of a place, its local time is later than after_local
-- too: a local time that has ticked doesn't tick again, even if the rules of its zone have changed since. An expression
-- whose hours all match follows real time, and its ticks are moments.
--
-- Ends after count ticks, or with the last one up to and with through. was_skipped: the clock never shows the time that
-- was meant, and the tick is the moment of the change. Costs some 0.1 ms for each hour with ticks. Raises ER422.
create or replace function errand_internal.coming_ticks(
    cron text, every interval, time_zone text, after timestamptz, count int, after_local timestamp default null,
    through timestamptz default null
) returns table (tick timestamptz, local timestamp, was_skipped boolean)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_variable
declare
    step constant bigint := extract(epoch from every) * 1000000;
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
    enough timestamp := through at time zone time_zone;
    found timestamptz[] := '{}';
    -- Ticks for a time that the clock skips; ticks at which it shows the expected time.
    leapt timestamptz[] := '{}';
    exact timestamptz[] := '{}';
    passed bigint;
begin
    if every is not null then
        passed := (extract(epoch from after) * 1000000)::bigint / step;
        return query
        select moment, moment at time zone time_zone, false
        from (
            select timestamptz 'epoch' + (passed + number) * step * interval '1 microsecond' as moment
            from generate_series(
                1,
                least(count, coalesce((extract(epoch from through) * 1000000)::bigint / step - passed, count))
            ) as number
        ) as counted;
        return;
    end if;
    select * into fields from errand_internal.cron_read(cron);
    is_real_time := cardinality(fields.hours) = 24;
    -- A clock that is set back shows earlier hours again: by at most three, since 1970.
    start := date_trunc('hour', after at time zone time_zone)
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
            -- Where the clock changes within the day around this one, a later hour may tick earlier.
            for hour in
                select day + value * interval '1 hour' from unnest(fields.hours) as value order by value
            loop
                continue when hour < start;
                exit search when hour > enough + interval '4 hours';
                -- The clock's offset from UTC, a day before this hour and a day after it.
                before := hour - interval '24 hours';
                was := (before at time zone 'UTC' at time zone time_zone) - before;
                behind := hour + interval '25 hours';
                will := (behind at time zone 'UTC' at time zone time_zone) - behind;
                exit search when was = will and hour > enough;
                if was = will then
                    found := found || array(
                        select moment
                        from (
                            select hour + minute * interval '1 minute' + second * interval '1 second' as shown
                            from unnest(fields.minutes) as minute
                            cross join unnest(fields.seconds) as second
                        ) as meant
                        cross join lateral (select shown at time zone 'UTC' - was as moment) as real
                        where moment > after and (is_real_time or after_local is null or shown > after_local)
                        order by moment);
                else
                    with meant as (
                        select hour + minute * interval '1 minute' + second * interval '1 second' as shown
                        from unnest(fields.minutes) as minute
                        cross join unnest(fields.seconds) as second
                    ),
                    moments as (
                        select shown, shown at time zone 'UTC' - shift as moment
                        from meant
                        cross join unnest(array[was, will]) as shift
                        where is_real_time and (shown at time zone 'UTC' - shift) at time zone time_zone = shown
                        union all
                        select shown, errand_internal.clock_first_shows(shown, time_zone)
                        from meant
                        where not is_real_time
                            -- A day that is skipped as a whole has no ticks.
                            and errand_internal.clock_first_shows(day, time_zone) at time zone time_zone
                                < day + interval '1 day'
                    )
                    select
                        array(select distinct one from unnest(found || array_agg(moment)) as one),
                        leapt || array_agg(moment) filter (where moment at time zone time_zone <> shown),
                        exact || array_agg(moment) filter (where moment at time zone time_zone = shown)
                    into found, leapt, exact
                    from moments
                    where moment > after
                        and (
                            is_real_time or after_local is null or moment at time zone time_zone > after_local);
                end if;
                if cardinality(found) >= count then
                    enough := least(enough, hour);
                end if;
            end loop;
        end loop;
    end loop;
    return query
    select moment, moment at time zone time_zone, moment = any (leapt) and moment <> all (exact)
    from unnest(found) as moment
    where through is null or moment <= through
    order by moment
    limit count;
end
$$;
