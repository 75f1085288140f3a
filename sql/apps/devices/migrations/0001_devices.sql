-- 0001_devices: the devices of persons, and the tokens that pushes reach them by.
--
-- Why     A push goes to a token, which Apple or Google hands out and takes back. Apps that notify persons need the
--         tokens in use, and no others.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create schema devices;
comment on schema devices is 'Devices of persons: registered by the API servers, retired when a push finds them gone';
insert into errand.app (name) values ('devices');

create table devices.person (
    user_id text not null,
    changes bigint not null default 0,
    constraint person_pkey primary key (user_id)
);
comment on table devices.person is 'One row for each person who has ever had a device: its lock keeps their number';
comment on column devices.person.user_id is 'the person, in the words of the app';
comment on column devices.person.changes is
    'counts registrations, so that transactions with an older snapshot fail instead of exceeding the number of devices';

create table devices.device (
    id uuid not null default gen_random_uuid(),
    registered_at timestamptz not null,
    seen_at timestamptz not null,
    online_since timestamptz,
    retired_at timestamptz,
    user_id text not null,
    platform text not null,
    token text not null,
    environment text,
    app text,
    time_zone text,
    locale text,
    retired_reason text,
    constraint device_pkey primary key (id),
    constraint device_token_key unique (token),
    constraint device_platform check (platform in ('apns', 'fcm')),
    constraint device_environment check (
        case platform when 'apns' then environment in ('production', 'sandbox') else environment is null end),
    constraint device_has_reason check ((retired_at is null) = (retired_reason is null))
) with (fillfactor = 80);
create index device_user_index on devices.device (user_id);
create index device_retired_index on devices.device (retired_at) where retired_at is not null;
comment on table devices.device is
    'One row for each token: at most 20 in use for a person, and retired ones for 30 days';
comment on column devices.device.id is 'the device''s id; the token gets another one when it moves to another person';
comment on column devices.device.registered_at is 'when its app last registered the token';
comment on column devices.device.seen_at is 'when it last registered, came online or went offline';
comment on column devices.device.online_since is 'since when it is online; null if it is not';
comment on column devices.device.retired_at is
    'when the push service called the token invalid; null while it is in use';
comment on column devices.device.user_id is 'who is logged in on it, in the words of the app';
comment on column devices.device.platform is 'apns (Apple) or fcm (Google)';
comment on column devices.device.token is 'the push token; no view shows all of it';
comment on column devices.device.environment is
    'Apple''s servers that know the token: production or sandbox; null at Google';
comment on column devices.device.app is 'the app, such as its bundle id';
comment on column devices.device.time_zone is 'the device''s time zone, an IANA name';
comment on column devices.device.locale is 'the device''s language and region, such as pt-BR';
comment on column devices.device.retired_reason is 'why it was retired, in the words of the push service';

create table devices.streak (
    worker_id bigint not null,
    since timestamptz not null,
    platform text not null,
    device_ids uuid[] not null,
    constraint streak_pkey primary key (worker_id, platform)
);
comment on table devices.streak is
    'One row for each worker and push service that has refused its tokens in a row, as wrong settings would have it do';
comment on column devices.streak.worker_id is 'the worker, whose settings may be wrong';
comment on column devices.streak.since is 'when the service refused the first one';
comment on column devices.streak.platform is 'apns (Apple) or fcm (Google)';
comment on column devices.streak.device_ids is
    'the first five devices of these tokens, since the service last accepted a push of the worker';

create table devices.change (
    id bigint generated always as identity,
    device_id uuid not null,
    from_device uuid,
    at timestamptz not null,
    what text not null,
    user_id text not null,
    from_user text,
    reason text,
    constraint change_pkey primary key (id),
    constraint change_what check (what in ('registered', 'moved', 'revived', 'retired', 'removed', 'dropped'))
);
create index change_at_index on devices.change (at);
create index change_user_index on devices.change (user_id);
create index change_from_user_index on devices.change (from_user) where from_user is not null;
create index change_device_index on devices.change (device_id);
comment on table devices.change is 'One row for each change of a device''s person or use, for 30 days';
comment on column devices.change.id is 'the change''s number, in their order';
comment on column devices.change.device_id is 'the device';
comment on column devices.change.from_device is 'moved: the id that the token had with the person before';
comment on column devices.change.at is 'when';
comment on column devices.change.what is
    'registered (new), moved (from another person), revived (after it was retired), retired (its token is invalid), '
    'removed (by its app), dropped (its person has 20 newer ones)';
comment on column devices.change.user_id is 'its person from then on, or until then';
comment on column devices.change.from_user is 'moved: the person before; null after that person was erased';
comment on column devices.change.reason is 'why: retired, revived';
