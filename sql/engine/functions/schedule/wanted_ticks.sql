-- wanted_ticks: returns the next ticks of a schedule within its bounds and not on a day without ticks, oldest first:
-- at most count, or those up to and with through.
--
-- Raises ER422 as errand_internal.coming_ticks does.
create or replace function errand_internal.wanted_ticks(
    target errand.schedule, after timestamptz, count int, through timestamptz default null
) returns table (tick timestamptz, local timestamp)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_variable
declare
    start timestamptz := greatest(after, target.starts_at - interval '1 microsecond');
    returned int := 0;
    read int;
    day date;
    coming record;
begin
    loop
        read := 0;
        for coming in
            select found.tick, found.local
            from errand_internal.coming_ticks(
                target.cron, target.every, target.time_zone, start, count, target.last_local, through) as found
            order by found.tick
        loop
            exit when returned = count or coming.tick >= target.ends_at;
            read := read + 1;
            start := coming.tick;
            day := coming.local::date;
            if (target.exceptions ? day::text) is not true then
                tick := coming.tick;
                local := coming.local;
                returned := returned + 1;
                return next;
            end if;
        end loop;
        exit when returned = count or read < count;
        -- All the rest of a day without ticks at once.
        if target.exceptions ? day::text then
            start := greatest(
                start, (day + 1)::timestamp at time zone target.time_zone - interval '1 microsecond');
        end if;
    end loop;
end
$$;
