-- start_demo: starts an activity for a demonstration: sender DEMO, a placeholder text, and an end within seconds. It is
-- started, updated and ended like any other; without a phone's token no phone shows it.
--
--   select activity_id, due_at from activity.start_demo();
--   select what, state, at from activity.change_record where activity_id = '6c1d…' order by id;
--
-- Raises ER422 for arguments out of bounds; ends_in: 0 to 8 hours less 1 minute.
-- errand: for enqueuer, ops
create or replace function activity.start_demo(
    user_id text default 'demo', ends_in interval default '5 seconds', start_token text default null,
    token text default repeat('0', 64), attributes_type text default 'MessageAttributes'
) returns table (ok boolean, activity_id uuid, due_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    begun constant timestamptz := clock_timestamp();
begin
    if ends_in is null or ends_in not between interval '0' and interval '7 hours 59 minutes' then
        raise exception 'start_demo: ends_in: expected 0 to 7 hours 59 minutes, got %', coalesce(ends_in::text, 'null')
            using errcode = 'ER422';
    end if;
    ok := true;
    due_at := begun + ends_in;
    activity_id := activity.open(
        'start_demo', user_id, null, 'DEMO', 'This is what a message looks like here.', start_token, token,
        attributes_type, null, null, begun, due_at, '0 s', 'demo');
    return next;
end
$$;
