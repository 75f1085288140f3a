-- prune_subscriptions_v1: deletes subscriptions that ended 3 days ago: by then no local day of their last push goes on.
-- Returns their number.
create or replace function quotes.prune_subscriptions_v1(max_subscriptions int default 1000) returns int
language sql security definer set search_path = pg_catalog, quotes, pg_temp as $$
    with gone as (
        delete from quotes.subscription
        where user_id = any (array(
            select user_id
            from quotes.subscription
            where ended_at <= now() - interval '3 days'
            order by ended_at
            limit max_subscriptions
            for update skip locked))
        returning user_id
    )
    select count(*)::int from gone
$$;
