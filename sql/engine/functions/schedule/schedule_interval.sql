-- schedule_interval: returns the interval in `every 30 s`; null if the text doesn't begin with every.
--
-- After every come numbers with units, such as 1 h 30 min. Raises ER422 for anything else, and for less than a second
-- or over a hundred years.
create or replace function errand_internal.schedule_interval(fields text) returns interval
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    every interval;
begin
    if fields is null or fields collate "C" !~* '^every( |$)' then
        return null;
    end if;
    if fields collate "C" ~* (
        '^every( ?[0-9]+ ?(us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?))+$')
    then
        begin
            -- In seconds alone: a day of an interval is one of the calendar.
            every := make_interval(secs => extract(epoch from substr(fields, 7)::interval)::float8);
        exception when others then
            every := null;
        end;
    end if;
    if every is null or every not between interval '1 second' and interval '36525 days' then
        raise exception 'cron: expected every and an interval of 1 s to 100 years, such as every 30 s, got %',
            left(fields, 100) using errcode = 'ER422';
    end if;
    return every;
end
$$;
