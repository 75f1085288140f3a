-- device_offline: records that a device is not connected any more.
--
--   select devices.device_offline('80ab…');
--
-- user_id, if given, must be the device's person. Returns whether there is such a device.
-- errand: for enqueuer, ops
create or replace function devices.device_offline(token text, user_id text default null) returns boolean
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, devices, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    update devices.device
    set seen_at = clock_timestamp(), online_since = null
    where id = devices.find($1, $2) and user_id = coalesce($2, user_id);
    return found;
end
$$;
