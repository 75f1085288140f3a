-- newest_ticks: returns the newest ticks after a time up to and with another one, at most count, oldest first.
--
-- It looks back over spans that grow, so that it costs about what it finds, however long ago after is.
create or replace function errand_internal.newest_ticks(
    cron text, every interval, time_zone text, after timestamptz, through timestamptz, count int,
    after_local timestamp default null
) returns table (tick timestamptz, local timestamp)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_variable
declare
    span interval := least(coalesce(every * count::float8, interval '2 hours'), interval '200 years');
    start timestamptz;
    ticks timestamptz[];
    locals timestamp[];
    surplus int;
begin
    loop
        start := greatest(after, through - span);
        select coalesce(array_agg(coming.tick), '{}'), array_agg(coming.local)
        into ticks, locals
        from errand_internal.coming_ticks(
            cron, every, time_zone, start, 10000000, after_local, through) as coming;
        surplus := cardinality(ticks) - count;
        exit when start = after or surplus >= 0;
        span := 4 * span;
    end loop;
    return query
    select found.tick, found.local
    from unnest(ticks[greatest(surplus, 0) + 1:], locals[greatest(surplus, 0) + 1:]) as found (tick, local);
end
$$;
