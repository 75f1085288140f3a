-- find: returns the id of the device with this token; null if there is none. user_id, if given, must be its person.
create or replace function devices.find(token text, user_id text default null) returns uuid
language sql stable set search_path = pg_catalog, devices, pg_temp as $$
    select id
    from devices.device
    where (
            device.token = find.token
            or device.token = lower(find.token collate "C") collate "default" and platform = 'apns')
        and device.user_id = coalesce(find.user_id, device.user_id)
    limit 1
$$;
