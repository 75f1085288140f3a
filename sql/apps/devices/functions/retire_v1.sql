-- retire_v1: retires a device whose token a push service has called invalid. It gets no more pushes, and stays for 30
-- days; a registration revives it.
--
-- since is the time from which the token is invalid, or when it was used if the service doesn't say; null is now.
-- Returns retired, also if it was before; newer if the token was registered after that time, so that it is valid again;
-- gone if the device has another token or does not exist any more.
create or replace function devices.retire_v1(device uuid, token text, since timestamptz, reason text) returns text
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, devices, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    held devices.device;
begin
    select * into held from devices.device where id = $1 and token = $2 for update;
    if not found then
        return 'gone';
    elsif held.retired_at is not null then
        return 'retired';
    elsif held.registered_at > $3 then
        return 'newer';
    end if;
    update devices.device
    set retired_at = clock_timestamp(), retired_reason = left(coalesce($4, 'without a reason'), 1000),
        online_since = null
    where id = $1;
    perform devices.record_change(held.id, 'retired', held.user_id, reason => coalesce($4, 'without a reason'));
    return 'retired';
end
$$;
comment on function devices.retire_v1(uuid, text, timestamptz, text) is
    'For jobs that push: retires a device whose token is invalid; returns retired, newer or gone';
