-- 0002_subscription: users who get the quote of the day as a push, each at a local time of their own.
--
-- Why     Each row has the moment of its next push, so that the due ones are a range of an index.
-- Locks   Nothing: all objects are new.
-- Before  The version before doesn't use them.
-- errand: needs notify
create table quotes.subscription (
    id bigint generated always as identity,
    user_id text not null,
    local_time time not null,
    time_zone text not null,
    next_day date,
    next_at timestamptz,
    last_day date,
    last_at timestamptz,
    ended_at timestamptz,
    constraint subscription_pkey primary key (user_id),
    constraint subscription_user_id check (length(user_id) between 1 and 200),
    constraint subscription_ended check (
        (ended_at is null) = (next_at is not null) and (ended_at is null) = (next_day is not null)),
    constraint subscription_last check ((last_day is null) = (last_at is null)),
    -- No local day has a second push, whatever a clock shows.
    constraint subscription_once check (next_day > last_day)
);
create index subscription_due_index on quotes.subscription (next_at, id) where next_at is not null;
create index subscription_ended_index on quotes.subscription (ended_at) where ended_at is not null;
comment on table quotes.subscription is
    'One row for each user who gets the daily push; an ended one stays for 3 days: a new one knows its last push';
comment on column quotes.subscription.id is
    'in the order of creation, so that subscriptions that are due at once are read in about the order of the table';
comment on column quotes.subscription.user_id is 'the user, in the words of the app';
comment on column quotes.subscription.local_time is 'when the push is due, on the local clock, in whole seconds';
comment on column quotes.subscription.time_zone is 'the IANA name of the time zone of that clock';
comment on column quotes.subscription.next_day is 'the local day whose quote is pushed next; null = it has ended';
comment on column quotes.subscription.next_at is 'when that push is due; null = it has ended';
comment on column quotes.subscription.last_day is 'the local day whose quote was pushed last; null = none';
comment on column quotes.subscription.last_at is
    'when that push was enqueued, less up to 15 minutes of lateness; null = none';
comment on column quotes.subscription.ended_at is 'when the user stopped it; null = it goes on';

create table quotes.zone_count (
    time_zone text not null,
    subscribers bigint not null,
    counted_at timestamptz not null,
    constraint zone_count_pkey primary key (time_zone)
);
comment on table quotes.zone_count is 'One row for each time zone with subscribers; counted once an hour';
comment on column quotes.zone_count.time_zone is 'the IANA name of the time zone';
comment on column quotes.zone_count.subscribers is 'users with a subscription in this zone';
comment on column quotes.zone_count.counted_at is 'when they were counted';

insert into notify.profile (app, name, wakes, is_mutable, thread) values
    ('quotes', 'daily_quote', false, false, 'quotes');
insert into notify.profile_text (profile, locale, title, body) values
    ('daily_quote', 'en', 'Quote of the day', null),
    ('daily_quote', 'fr', 'Citation du jour', null);
