-- 0001_events: shared disposable cameras.
--
-- Why     An event's photos, rows and objects, are deleted some days after its end, 8 by default.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
-- errand: needs media, notify, rooms
create schema events;
comment on schema events is 'Shared disposable cameras: written by the API servers, purged by the job event_purge';
insert into errand.app (name) values ('events');

create table events.event (
    id uuid not null default gen_random_uuid(),
    created_at timestamptz not null default clock_timestamp(),
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    reveal_at timestamptz,
    revealed_at timestamptz,
    photos_each int not null,
    photos_in_all int not null,
    max_edge int not null default 2560,
    kept_days int not null default 8,
    keep_original boolean not null default false,
    qualities int4range not null default '[72,100]',
    changes bigint not null default 0,
    host text not null,
    title text not null,
    constraint event_pkey primary key (id),
    constraint event_times check (starts_at < ends_at and isfinite(starts_at) and isfinite(ends_at)),
    constraint event_reveal check (isfinite(reveal_at)),
    constraint event_revealed check (revealed_at is null or reveal_at is not null),
    constraint event_limits check (photos_each between 1 and 1000 and photos_in_all between 1 and 20000),
    constraint event_max_edge check (max_edge between 16 and 16384),
    constraint event_kept_days check (kept_days between 1 and 30),
    constraint event_qualities check (qualities <@ int4range(1, 101) and not isempty(qualities)),
    constraint event_host check (length(host) between 1 and 200),
    constraint event_title check (length(title) between 1 and 200)
) with (fillfactor = 70);
-- In UTC a day has 24 hours, and the sum depends on no setting.
create index event_kept_from_end_index on events.event (
    ((ends_at at time zone 'UTC') + kept_days * interval '1 day'), id);
create index event_kept_from_start_index on events.event (
    greatest(ends_at at time zone 'UTC', (starts_at at time zone 'UTC') + kept_days * interval '1 day'), id);
create index event_host_index on events.event (host);
comment on table events.event is
    'One row for each event that was not purged. A transaction that adds or deletes photos locks it first and updates '
    'it';
comment on column events.event.id is 'the event''s id; hard to guess: a user who knows it may join';
comment on column events.event.created_at is 'when it was created';
comment on column events.event.starts_at is 'start of the time for photos';
comment on column events.event.ends_at is 'end of the time for photos';
comment on column events.event.reveal_at is
    'when participants see the photos of others; null = as soon as they are added';
comment on column events.event.revealed_at is 'when the participants were told of the reveal; null until then';
comment on column events.event.photos_each is 'photos that a participant may have in it at a time';
comment on column events.event.photos_in_all is 'photos that it may have at a time';
comment on column events.event.max_edge is 'most pixels on the longer side of a photo that is added';
comment on column events.event.kept_days is 'days of 24 hours after which it is purged: see events.rule';
comment on column events.event.keep_original is
    'whether the original of a photo that is added stays until the photo or the event goes';
comment on column events.event.qualities is 'encoder qualities to choose from for a photo that is added, 1 to 100';
comment on column events.event.changes is
    'number of changes of its photos: at REPEATABLE READ, a transaction with an older snapshot raises 40001';
comment on column events.event.host is 'its creator, in the words of the app';
comment on column events.event.title is 'its title';

create table events.participant (
    joined_at timestamptz not null default clock_timestamp(),
    event_id uuid not null,
    user_id text not null,
    name text,
    constraint participant_pkey primary key (event_id, user_id),
    constraint participant_of_event foreign key (event_id) references events.event (id) on delete cascade,
    constraint participant_user_id check (length(user_id) between 1 and 200),
    constraint participant_name check (length(name) between 1 and 100)
);
create index participant_user_index on events.participant (user_id);
comment on table events.participant is 'One row for each person in an event';
comment on column events.participant.joined_at is 'when they joined';
comment on column events.participant.event_id is 'the event';
comment on column events.participant.user_id is 'the user, in the words of the app';
comment on column events.participant.name is 'the name that the others see in this event; null if none was given';

create table events.exclusion (
    excluded_at timestamptz not null default clock_timestamp(),
    event_id uuid not null,
    user_id text not null,
    constraint exclusion_pkey primary key (event_id, user_id),
    constraint exclusion_from_event foreign key (event_id) references events.event (id) on delete cascade,
    constraint exclusion_user_id check (length(user_id) between 1 and 200)
);
create index exclusion_user_index on events.exclusion (user_id);
comment on table events.exclusion is 'One row for each user whom the host keeps out of an event';
comment on column events.exclusion.excluded_at is 'since when';
comment on column events.exclusion.event_id is 'the event';
comment on column events.exclusion.user_id is 'the user, in the words of the app';

create table events.photo (
    added_at timestamptz not null default clock_timestamp(),
    photo uuid not null,
    event_id uuid not null,
    user_id text not null,
    source_key text not null,
    constraint photo_pkey primary key (photo),
    constraint photo_source_key unique (source_key),
    constraint photo_in_media foreign key (photo) references media.photo (id) on delete cascade,
    constraint photo_of_event foreign key (event_id) references events.event (id) on delete cascade,
    -- A key elsewhere could be another user's object, which a purge would remove too.
    constraint photo_below_event check (starts_with(source_key, 'events/' || event_id::text || '/'))
);
create index photo_event_index on events.photo (event_id, user_id);
create index photo_user_index on events.photo (user_id);
comment on table events.photo is 'One row for each photo in an event';
comment on column events.photo.added_at is 'when it was added';
comment on column events.photo.photo is 'the photo, in media.photo';
comment on column events.photo.event_id is 'the event';
comment on column events.photo.user_id is 'the user who took it';
comment on column events.photo.source_key is 'key of its original: below events/, the event''s id and a slash';

create table events.archive (
    id uuid not null default gen_random_uuid(),
    asked_at timestamptz not null default clock_timestamp(),
    made_at timestamptz,
    event_id uuid not null,
    job_id bigint not null,
    bytes bigint,
    photos int,
    missing int,
    key text not null,
    contents text,
    constraint archive_pkey primary key (id),
    constraint archive_of_event foreign key (event_id) references events.event (id) on delete cascade,
    constraint archive_made check (
        num_nonnulls(made_at, bytes, photos, missing) in (0, 4) and (made_at is null or contents is not null)
    )
);
create index archive_event_index on events.archive (event_id);
comment on table events.archive is
    'One row for each archive of an event''s photos: the one that is made, and the next one while it is being made';
comment on column events.archive.id is 'the archive''s id';
comment on column events.archive.asked_at is 'when it was asked for';
comment on column events.archive.made_at is 'when the object store had it; null until then';
comment on column events.archive.event_id is 'the event';
comment on column events.archive.job_id is 'the job that makes it';
comment on column events.archive.bytes is 'its size; null until it is made';
comment on column events.archive.photos is 'number of photos in it; null until it is made';
comment on column events.archive.missing is
    'number of photos whose objects the store did not have; null until it is made';
comment on column events.archive.key is 'key of its object: below the event''s folder, so the purge removes it';
comment on column events.archive.contents is
    'what events.archive_contents returned when its job listed the photos; null until then';

create table events.rule (
    is_only boolean not null default true,
    kept_from text not null,
    constraint rule_pkey primary key (is_only),
    constraint rule_only check (is_only),
    constraint rule_kept_from check (kept_from in ('end', 'start'))
);
comment on table events.rule is
    'One row: from when the days until a purge count (events.set_kept_from)';
comment on column events.rule.is_only is 'true: allows one row';
comment on column events.rule.kept_from is 'end or start of the event';
insert into events.rule (kept_from) values ('end');

insert into notify.profile (app, name, wakes, is_mutable, thread) values
    ('events', 'event_reveal', false, false, 'events');
insert into notify.profile_text (profile, locale, title, body) values
    ('event_reveal', 'en', 'The photos are here', 'You can see all photos of the event now.'),
    ('event_reveal', 'fr', 'Les photos sont là', 'Tu peux voir toutes les photos de l’événement maintenant.');
