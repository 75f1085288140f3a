-- 0001_notify: notifications to persons, and what became of each on each of their devices.
--
-- Why     An app notifies a person, who has several devices at Apple and at Google. Each push is a job of its own, so
--         that one device's failure delays no other. Pushes to many persons share jobs, a hundred each.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
-- errand: needs devices
create schema notify;
comment on schema notify is
    'Notifications: sent by the API servers and other apps, pushed by the jobs notification_…';
insert into errand.app (name) values ('notify');

create table notify.profile (
    badge int,
    wakes boolean not null default false,
    is_mutable boolean not null default false,
    is_urgent boolean not null default true,
    name text not null,
    app text,
    sound text default 'default',
    category text,
    thread text,
    channel text,
    collapse text,
    constraint profile_pkey primary key (name),
    constraint profile_name check (name ~ '^[a-z][a-z0-9_]{0,49}$'),
    constraint profile_badge check (badge >= 0)
);
comment on table notify.profile is 'One row for each kind of notification: how phones present it';
comment on column notify.profile.badge is 'the number on the app''s icon at Apple; null = unchanged';
comment on column notify.profile.wakes is 'whether it wakes the app, so that its widget is fresh';
comment on column notify.profile.is_mutable is 'whether the app''s extension at Apple may change it before it is shown';
comment on column notify.profile.is_urgent is 'whether it is delivered at once, not when it suits the battery';
comment on column notify.profile.name is 'the kind''s name';
comment on column notify.profile.app is 'the app that it belongs to; null = none';
comment on column notify.profile.sound is 'the sound''s name at Apple; null = silent';
comment on column notify.profile.category is 'the category at Apple and the click action at Google; null = none';
comment on column notify.profile.thread is 'the group in which Apple shows it; null = the app''s';
comment on column notify.profile.channel is 'the channel at Google; null = the app''s default';
comment on column notify.profile.collapse is 'the collapse of a notification without one of its own; null = none';

create table notify.profile_text (
    profile text not null,
    locale text not null,
    title text,
    body text,
    constraint profile_text_pkey primary key (profile, locale),
    constraint profile_text_of_profile foreign key (profile) references notify.profile (name) on delete cascade,
    constraint profile_text_locale check (locale ~ '^[a-z]{2,3}(-[a-z0-9]{2,8})*$'),
    constraint profile_text_texts check (title <> '' and body <> '')
);
comment on table notify.profile_text is 'One row for each language of a kind of notification: its texts';
comment on column notify.profile_text.profile is 'the kind';
comment on column notify.profile_text.locale is 'the language, with a region or without, in small letters: en, pt-br';
comment on column notify.profile_text.title is
    'the first line that a phone shows, with {words} to fill in; null = none';
comment on column notify.profile_text.body is 'what it shows below; null = none';

create table notify.message (
    id uuid not null default gen_random_uuid(),
    created_at timestamptz not null,
    not_after timestamptz not null,
    title text,
    body text,
    collapse text,
    profile text,
    data jsonb not null,
    words jsonb,
    constraint message_pkey primary key (id),
    constraint message_data check (jsonb_typeof(data) = 'object')
);
create index message_created_index on notify.message (created_at);
comment on table notify.message is 'One row for each notification, for 30 days: its content, once for all receivers';
comment on column notify.message.id is 'the notification''s id';
comment on column notify.message.created_at is 'when it was sent by notify.send';
comment on column notify.message.not_after is 'nothing is pushed later';
comment on column notify.message.title is 'the first line that a phone shows; null if there is none';
comment on column notify.message.body is 'what it shows below; null with a null title shows nothing, and wakes the app';
comment on column notify.message.collapse is 'of notifications with the same word, a phone shows the last one';
comment on column notify.message.profile is 'its kind in notify.profile; null = none';
comment on column notify.message.words is 'what is filled in to the texts of its kind';
comment on column notify.message.data is 'what the app gets: an object with texts';

create table notify.delivery (
    id bigint generated always as identity,
    created_at timestamptz not null,
    not_after timestamptz not null,
    tried_at timestamptz,
    ended_at timestamptz,
    retry_at timestamptz,
    job_id bigint,
    batch bigint,
    message_id uuid not null,
    device_id uuid not null,
    tries int not null default 0,
    status smallint,
    platform text not null,
    state text not null default 'waiting',
    user_id text not null,
    via text,
    reason text,
    service_id text,
    constraint delivery_pkey primary key (id),
    constraint delivery_of_message foreign key (message_id) references notify.message (id) on delete cascade,
    constraint delivery_platform check (platform in ('apns', 'fcm')),
    constraint delivery_state check (
        state in ('waiting', 'not_sent', 'accepted', 'token gone', 'refused', 'expired', 'withdrawn')),
    constraint delivery_ended check (
        case state when 'waiting' then ended_at is null when 'not_sent' then true else ended_at is not null end),
    constraint delivery_via check (via in ('apns', 'fcm', 'log', 'none'))
) with (fillfactor = 80);
create index delivery_message_index on notify.delivery (message_id);
create index delivery_user_index on notify.delivery (user_id);
create index delivery_open_index on notify.delivery (not_after) where ended_at is null;
comment on table notify.delivery is 'One row for each device that a notification goes to, for 30 days';
comment on column notify.delivery.id is 'the delivery''s number';
comment on column notify.delivery.created_at is 'when it was enqueued';
comment on column notify.delivery.not_after is 'nothing is pushed later';
comment on column notify.delivery.tried_at is 'when its newest result was recorded';
comment on column notify.delivery.ended_at is 'when its result was final; null until then';
comment on column notify.delivery.retry_at is 'of a batch: when it is tried again; null = as soon as possible';
comment on column notify.delivery.job_id is 'the job that tried it last';
comment on column notify.delivery.batch is
    'the first delivery of those that one job sends; null = it has a job of its own';
comment on column notify.delivery.message_id is 'the notification';
comment on column notify.delivery.device_id is 'the device; it may be gone by now';
comment on column notify.delivery.tries is 'how often it was tried';
comment on column notify.delivery.status is 'the service''s HTTP status; null if there was none';
comment on column notify.delivery.platform is 'apns (Apple) or fcm (Google)';
comment on column notify.delivery.state is
    'waiting, not_sent (no credentials are set, or those of other servers; with ended_at, for good), accepted (by the '
    'service), token gone (the device does not exist any more), refused (for good), expired (too late), withdrawn (by '
    'notify.withdraw)';
comment on column notify.delivery.user_id is 'the receiver, in the words of the app';
comment on column notify.delivery.via is
    'apns or fcm; log if ERRAND_PUSH says so: no device has received it; none if no credentials are set';
comment on column notify.delivery.reason is 'the service''s reason, or the error';
comment on column notify.delivery.service_id is 'the service''s id of the accepted push';

create table notify.once (
    user_id text not null,
    key text not null,
    used_at timestamptz not null,
    constraint once_pkey primary key (user_id, key)
);
create index once_used_index on notify.once (used_at);
comment on table notify.once is 'One row for each key of notify.send and receiver, for 30 days: the key sends nothing';
comment on column notify.once.user_id is 'the receiver';
comment on column notify.once.key is 'the key';
comment on column notify.once.used_at is 'when it was used';
