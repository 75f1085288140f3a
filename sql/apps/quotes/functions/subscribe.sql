-- subscribe: pushes the quote of the day to a user daily, at a time on the clock of a time zone. Returns when the next
-- push is due.
--
--   select quotes.subscribe('user-17', '08:30', 'Europe/Paris');
--
-- Idempotent: the same time and zone change nothing, and others move the push. No local day has two pushes, neither by
-- its date nor on the clock of the new zone. A push that is due at this moment is still sent if the change would leave
-- its day without one. Fractions of a second are dropped.
--
-- Raises ER422 for an unknown time zone, a time outside of 00:00 to 23:59:59, and a user id that is not 1 to 200
-- characters long. Above READ COMMITTED, raises 40001 if the subscription changed since the transaction's snapshot.
-- errand: after set_subscription
-- errand: for enqueuer, ops
create or replace function quotes.subscribe(user_id text, local_time time, time_zone text) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_user('subscribe', subscribe.user_id);
    if subscribe.local_time is null or subscribe.local_time = time '24:00' then
        raise exception 'subscribe: local_time: expected 00:00 to 23:59:59, got %',
            coalesce(subscribe.local_time::text, 'null') using errcode = 'ER422';
    end if;
    begin
        perform errand_internal.check_time_zone(subscribe.time_zone);
    exception when sqlstate 'ER422' then
        raise exception 'subscribe: %', sqlerrm using errcode = 'ER422';
    end;
    return quotes.set_subscription(
        subscribe.user_id, date_trunc('second', subscribe.local_time::interval)::time, subscribe.time_zone);
end
$$;
