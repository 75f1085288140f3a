-- zone_status: the number of subscriptions in each time zone, counted once an hour.
-- errand: for ops, monitor
create or replace view quotes.zone_status as
select time_zone, subscribers, counted_at
from quotes.zone_count;
comment on view quotes.zone_status is 'The number of subscriptions in each time zone, counted once an hour';
comment on column quotes.zone_status.time_zone is 'the IANA name of the time zone';
comment on column quotes.zone_status.subscribers is 'users with a subscription in this zone';
comment on column quotes.zone_status.counted_at is 'when they were counted';
