-- clock_first_shows: returns the first moment at which a zone's clock shows a local time or a later one.
--
-- A time that occurs twice is the first one, and a skipped time is the moment of the change. PostgreSQL's own `at time
-- zone` takes the second one of two, and moves a skipped time by the length of the gap.
create or replace function errand_internal.clock_first_shows(local timestamp, zone text) returns timestamptz
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    utc timestamptz := local at time zone 'UTC';
    -- The clock's offset from UTC, a day before and a day after.
    was interval := ((utc - interval '24 hours') at time zone zone) - (local - interval '24 hours');
    will interval := ((utc + interval '24 hours') at time zone zone) - (local + interval '24 hours');
    low timestamptz := utc - greatest(was, will);
    high timestamptz := utc - least(was, will);
    middle timestamptz;
begin
    if low at time zone zone = local then
        return low;
    elsif high at time zone zone = local then
        return high;
    end if;
    -- The clock skips the local time, at a whole second between the two. With fractions, the middle of two moments more
    -- than a second apart could be the lower one.
    low := date_trunc('second', low);
    high := date_trunc('second', high);
    while high - low > interval '1 second' loop
        middle := date_trunc('second', low + (high - low) / 2);
        if middle at time zone zone < local then
            low := middle;
        else
            high := middle;
        end if;
    end loop;
    return high;
end
$$;
