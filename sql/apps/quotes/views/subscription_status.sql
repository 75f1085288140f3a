-- subscription_status: one row: how many subscriptions there are, and how late the pushes are. Reads 10,000 index
-- entries at most.
-- errand: for ops, monitor
create or replace view quotes.subscription_status as
select
    (select coalesce(sum(subscribers), 0)::bigint from quotes.zone_count) as subscribers,
    (select min(counted_at) from quotes.zone_count) as counted_at,
    (
        select count(*)
        from (
            select
            from quotes.subscription
            where next_at <= now()
            order by next_at, id
            limit 10000
        ) as counted
    ) as due,
    (select min(next_at) from quotes.subscription where next_at <= now()) as oldest_due_at;
comment on view quotes.subscription_status is 'One row: how many subscriptions there are, and how late the pushes are';
comment on column quotes.subscription_status.subscribers is 'users with a subscription, when they were last counted';
comment on column quotes.subscription_status.counted_at is 'when they were last counted; null = there were none';
comment on column quotes.subscription_status.due is 'pushes that are due and not enqueued; 10000 = that many or more';
comment on column quotes.subscription_status.oldest_due_at is 'when the oldest of them was due; null = there are none';
