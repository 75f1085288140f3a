-- reopen_v1: sends again what was not sent to the devices of a service's streaks, since their tokens seemed invalid.
-- Each push has a job of its own from then on, and waits with the others until the settings are correct.
create or replace function notify.reopen_v1(platform text) returns void
-- A plan from when the tables were empty would read all of them.
language sql security definer set search_path = pg_catalog, notify, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
    with reopened as (
        update notify.delivery as existing
        set state = 'waiting', ended_at = null, retry_at = null, batch = null
        from devices.streak
        join devices.device on device.id = any (streak.device_ids)
        where streak.platform = reopen_v1.platform and existing.user_id = device.user_id
            and existing.device_id = device.id
            and existing.state = 'token gone' and existing.tried_at >= streak.since
                and existing.not_after > clock_timestamp()
        returning existing.id, existing.not_after
    )
    select count(*)
    from (
        select jsonb_agg(
            jsonb_build_object(
                'kind', 'notification_' || reopen_v1.platform, 'queue', 'pushes', 'priority', 2, 'max_attempts', 200,
                'payload', jsonb_build_object('delivery', id), 'not_after', not_after,
                'unique_key', 'notification/' || id)) as jobs
        from reopened
    ) as again
    cross join lateral errand.enqueue_many(jobs)
    where jobs is not null
$$;
