-- subscription_of: returns a user's daily push: its local time and time zone, when the next one is due, and the local
-- day of the last one. No row without a subscription.
--
--   select local_time, time_zone, next_at from quotes.subscription_of('user-17');
-- errand: for enqueuer, ops
create or replace function quotes.subscription_of(user_id text)
returns table (local_time time, time_zone text, next_at timestamptz, last_day date)
language sql stable security definer set search_path = pg_catalog, quotes, pg_temp as $$
    select existing.local_time, existing.time_zone, existing.next_at, existing.last_day
    from quotes.subscription as existing
    where existing.user_id = subscription_of.user_id and existing.ended_at is null
$$;
