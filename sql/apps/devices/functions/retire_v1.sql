-- retire_v1: retires a device whose token a push service has called invalid. It gets no more pushes, and stays for 30
-- days; a registration revives it.
--
-- since is the time from which the token is invalid, or when it was used if the service doesn't say; null is now.
-- job_id is the job that has sent the push, if its worker's settings may be the reason too, since wrong ones have every
-- token refused so. Settings are wrong if the service gives such a reason for five devices, and accepts nothing of
-- these workers in between: none of these is retired, nor any other until it does. See devices.end_streaks.
--
-- Returns retired, also if it was before; newer if the token was registered after that time, so that it is valid again;
-- gone if the device has another token or does not exist any more; misconfigured if the settings are wrong.
create or replace function devices.retire_v1(
    device uuid, token text, since timestamptz, reason text, job_id bigint default null
) returns text
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, devices, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant int := 5;
    existing devices.device;
    service text;
    refused uuid[];
begin
    if $5 is not null then
        -- Before any device, so that sessions lock in one order.
        insert into devices.streak as streak (worker_id, since, platform, device_ids)
        select coalesce((select job.worker_id from errand.job where job.id = $5), 0), clock_timestamp(), platform,
            array[$1]
        from devices.device
        where id = $1 and token = $2
        on conflict on constraint streak_pkey do update
        set device_ids = case
            when $1 = any (streak.device_ids) or cardinality(streak.device_ids) >= most then streak.device_ids
            else streak.device_ids || $1
        end
        returning platform into service;
        refused := array(
            select distinct unnest(device_ids) from devices.streak where platform = service);
        if cardinality(refused) >= most then
            for existing in
                update devices.device
                set retired_at = null, retired_reason = null
                where id = any (refused)
                    and retired_at >= (select min(streak.since) from devices.streak where streak.platform = service)
                returning *
            loop
                perform devices.record_change(existing.id, 'revived', existing.user_id, reason => $4);
            end loop;
            return 'misconfigured';
        end if;
    end if;
    select * into existing from devices.device where id = $1 and token = $2 for update;
    if not found then
        return 'gone';
    elsif existing.retired_at is not null then
        return 'retired';
    elsif existing.registered_at > $3 then
        return 'newer';
    end if;
    update devices.device
    set retired_at = clock_timestamp(), retired_reason = left(coalesce($4, 'without a reason'), 1000),
        online_since = null
    where id = $1;
    perform devices.record_change(existing.id, 'retired', existing.user_id, reason => coalesce($4, 'without a reason'));
    return 'retired';
end
$$;
