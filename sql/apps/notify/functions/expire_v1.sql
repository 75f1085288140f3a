-- expire_v1: ends deliveries whose not_after passed a minute ago without a final result: their jobs were not started in
-- time, have failed, or were cancelled. At most max_deliveries; returns their number.
create or replace function notify.expire_v1(max_deliveries int default 1000) returns int
language sql security definer set search_path = pg_catalog, notify, pg_temp as $$
    with late as (
        update notify.delivery
        set state = 'expired', ended_at = clock_timestamp(),
            reason = left('not sent in time' || coalesce(': ' || reason, ''), 1000)
        where id = any (array(
            select id
            from notify.delivery
            -- A job that sends at the last moment records its result before that.
            where ended_at is null and not_after <= now() - interval '1 minute'
            order by not_after
            limit max_deliveries
            for update skip locked))
            and ended_at is null
        returning id
    )
    select count(*)::int from late
$$;
