-- device_online: records that a device is connected now, such as by a socket, and when it was last seen.
--
--   select devices.device_online('80ab…', time_zone => 'America/Lima');
--
-- user_id, if given, must be the device's person. time_zone and locale stay as they are if they are null. Returns
-- whether there is such a device in use; if not, its app should register it. Raises ER422 for a wrong time zone or
-- locale.
-- errand: for enqueuer, ops
create or replace function devices.device_online(
    token text, user_id text default null, time_zone text default null, locale text default null
) returns boolean
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, devices, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    present constant timestamptz := clock_timestamp();
begin
    perform devices.check_details('device_online', null, null, null, $3, $4);
    update devices.device
    set seen_at = present, online_since = coalesce(online_since, present), time_zone = coalesce($3, time_zone),
        locale = coalesce($4, locale)
    where id = devices.find($1, $2) and user_id = coalesce($2, user_id) and retired_at is null;
    return found;
end
$$;
