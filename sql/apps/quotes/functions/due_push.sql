-- due_push: decides about a push that is due: which local day's quote is pushed, until when it may be delivered, and
-- when the next one is due.
--
-- A day is over at its local end, and not before 15 minutes after its push was due. If the day is over, its push is
-- left out: day is the present local day if its time has come, and null otherwise. So after a downtime each
-- subscriber gets one push at most, and today's if its time has passed.
--
-- A push may be delivered for 4 hours, but not after the end of the day; in any case for 15 minutes. A time zone that
-- the server no longer knows counts as UTC: one removed zone must not stop the pushes of all others.
-- errand: after next_push
create or replace function quotes.due_push(
    local_time time, time_zone text, due_day date, due_at timestamptz, at_time timestamptz
) returns table (day date, not_after timestamptz, next_day date, next_at timestamptz)
language plpgsql stable set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    zone text := due_push.time_zone;
    today date;
    ends_at timestamptz;
begin
    begin
        today := (due_push.at_time at time zone zone)::date;
    exception when invalid_parameter_value then
        zone := 'UTC';
        today := (due_push.at_time at time zone zone)::date;
    end;
    next_day := due_push.due_day;
    next_at := due_push.due_at;
    loop
        ends_at := greatest(errand_internal.clock_first_shows(next_day + 1, zone), next_at + interval '15 minutes');
        exit when at_time < ends_at;
        select coming.day, coming.due_at
        into next_day, next_at
        from quotes.next_push(due_push.local_time, zone, '-infinity', greatest(next_day + 1, today)) as coming;
    end loop;
    if next_at <= at_time then
        day := next_day;
        not_after := greatest(
            least(ends_at, at_time + interval '4 hours'), at_time + interval '15 minutes');
        select coming.day, coming.due_at
        into next_day, next_at
        from quotes.next_push(due_push.local_time, zone, '-infinity', day + 1) as coming;
    end if;
    return next;
end
$$;
