-- record_change: records a change of a device. It commits and rolls back with the change.
create or replace function devices.record_change(
    device uuid, what text, user_id text, from_device uuid default null, from_user text default null,
    reason text default null
) returns void
language sql set search_path = pg_catalog, devices, pg_temp as $$
    insert into devices.change (device_id, from_device, at, what, user_id, from_user, reason)
    values (
        record_change.device, record_change.from_device, clock_timestamp(), record_change.what, record_change.user_id,
        record_change.from_user, left(record_change.reason, 1000))
$$;
