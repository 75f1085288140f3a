-- record_change: records a change of an activity, with who made it and why. It commits and rolls back with the change.
create or replace function activity.record_change(
    activity uuid, what text, state text, who text default null, reason text default null
) returns void
language sql set search_path = pg_catalog, activity, pg_temp as $$
    insert into activity.change (activity_id, at, what, state, who, reason)
    values (
        record_change.activity, clock_timestamp(), record_change.what, record_change.state,
        left(coalesce(record_change.who, session_user), 200), left(record_change.reason, 1000))
$$;
