-- unsubscribe: stops the daily push of a user. After the transaction commits, no push is enqueued, and none is sent
-- that waits.
--
--   select quotes.unsubscribe('user-17');
--
-- Returns whether there was a subscription: the call is idempotent. Its last local day is remembered for 3 days, so
-- that subscribing again gives no second push on one day. Raises ER422 for a user id that is not 1 to 200 characters
-- long. Above READ COMMITTED, raises 40001 if the subscription or a result of its push changed since the snapshot.
-- errand: for enqueuer, ops
create or replace function quotes.unsubscribe(user_id text) returns boolean
language plpgsql security definer set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_user('unsubscribe', unsubscribe.user_id);
    update quotes.subscription as existing
    set next_day = null, next_at = null, ended_at = clock_timestamp()
    where existing.user_id = unsubscribe.user_id and existing.ended_at is null;
    if not found then
        return false;
    end if;
    -- The update has waited for a batch of pushes that had the row.
    perform notify.withdraw(unsubscribe.user_id, 'daily_quote');
    return true;
end
$$;
