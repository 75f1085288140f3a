-- unregister: removes a device, such as when its person logs out. It gets no more pushes, not even those that wait.
--
--   select devices.unregister('80ab…');
--
-- user_id, if given, must be the device's person. Returns whether there was such a device.
-- errand: for enqueuer, ops
create or replace function devices.unregister(token text, user_id text default null) returns boolean
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, devices, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    gone devices.device;
begin
    delete from devices.device
    where id = devices.find($1, $2) and user_id = coalesce($2, user_id)
    returning * into gone;
    if not found then
        return false;
    end if;
    perform devices.record_change(gone.id, 'removed', gone.user_id);
    return true;
end
$$;
