-- export_person: returns all that this app has about a person, as an object; {} if there is nothing.
create or replace function devices.export_person(user_id text) returns jsonb
language sql stable security definer set search_path = pg_catalog, devices, pg_temp as $$
    select jsonb_strip_nulls(jsonb_build_object(
        'devices', (
            select jsonb_agg(to_jsonb(device) - 'user_id' order by registered_at, id)
            from devices.device
            where device.user_id = export_person.user_id),
        'changes', (
            select jsonb_agg(
                jsonb_build_object(
                    'device_id', case when change.user_id = export_person.user_id then device_id else from_device end,
                    'at', at, 'what', what, 'reason', reason)
                order by id)
            from devices.change
            where export_person.user_id in (change.user_id, change.from_user))))
$$;
