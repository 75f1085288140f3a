-- next_push: returns the first local day, from `from_day` on, whose push is due after the given moment; and when.
--
-- The rule is that of the schedules: a local time that occurs twice is due the first time, and a skipped one at the
-- first moment after the gap. A day that is skipped as a whole has no push. If a gap ends at midnight, as in
-- America/Nuuk, that moment has the next day's date, and the push still belongs to the day before.
--
-- Takes 5 to 10 us. Raises 22023 for an unknown time zone.
create or replace function quotes.next_push(
    local_time time, time_zone text, after timestamptz, from_day date default '-infinity'
) returns table (day date, due_at timestamptz)
language plpgsql stable set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    local timestamp;
begin
    day := greatest(next_push.from_day, (next_push.after at time zone next_push.time_zone)::date);
    loop
        local := day + next_push.local_time;
        due_at := local at time zone next_push.time_zone;
        -- Exact, unless the clock changes within a day of it.
        if due_at at time zone next_push.time_zone <> local
            or (due_at - interval '24 hours') at time zone next_push.time_zone <> local - interval '24 hours'
            or (due_at + interval '24 hours') at time zone next_push.time_zone <> local + interval '24 hours'
        then
            due_at := errand_internal.clock_first_shows(local, next_push.time_zone);
            if (
                errand_internal.clock_first_shows(day, next_push.time_zone) at time zone next_push.time_zone
            )::date > day then
                due_at := '-infinity';
            end if;
        end if;
        exit when due_at > next_push.after;
        day := day + 1;
    end loop;
    return next;
end
$$;
