-- 0009_events: shared disposable cameras, and how photos are removed for good.
--
-- Why     an event's photos, rows and objects, go 8 days after its end, and what is left of it is a receipt with counts.
-- Locks   media.photo, for milliseconds: rows of a new table refer to it.
-- Before  version 0008 runs on: it knows neither the schema events nor removals.
create table media.receipt (
    id bigint generated always as identity,
    asked_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    people int not null,
    photos int not null,
    objects int not null default 0,
    reason text not null,
    constraint receipt_pkey primary key (id),
    constraint receipt_reason check (reason ~ '^[a-z][a-z_]{0,49}$')
);
comment on table media.receipt is 'One row a removal of many photos: counts, and nothing that says whose or which';
comment on column media.receipt.id is 'names the receipt';
comment on column media.receipt.asked_at is 'when the rows were deleted';
comment on column media.receipt.finished_at is 'when the store had confirmed the last object; null until then';
comment on column media.receipt.people is 'how many people were part of it';
comment on column media.receipt.photos is 'how many photos went';
comment on column media.receipt.objects is 'how many keys the store has confirmed to be without an object, so far';
comment on column media.receipt.reason is 'what it was about: event_purge';

create table media.removal (
    id bigint generated always as identity,
    receipt_id bigint,
    asked_at timestamptz not null default clock_timestamp(),
    try_at timestamptz not null default clock_timestamp(),
    tried_at timestamptz,
    settles_at timestamptz,
    tries int not null default 0,
    in_flight boolean not null,
    is_folder boolean not null default false,
    key text not null,
    error text,
    constraint removal_pkey primary key (id),
    constraint removal_key unique (key),
    constraint removal_for_receipt foreign key (receipt_id) references media.receipt (id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000);
create index removal_try_index on media.removal (try_at, id);
create index removal_receipt_index on media.removal (receipt_id) where receipt_id is not null;
comment on table media.removal is
    'One row an object that is to go, written in the transaction that deletes its row, and kept until the store confirms';
comment on column media.removal.id is 'names it';
comment on column media.removal.receipt_id is 'the receipt that counts it; null where nobody counts';
comment on column media.removal.asked_at is 'when it was asked for';
comment on column media.removal.try_at is 'not to be tried before; while it is being tried, when another one may';
comment on column media.removal.tried_at is 'when it was last tried';
comment on column media.removal.settles_at is 'when nothing can be on its way under the key any more; null before the first try';
comment on column media.removal.tries is 'how often it was tried';
comment on column media.removal.in_flight is
    'whether somebody may be storing it just now: then it is removed once more when that has settled';
comment on column media.removal.is_folder is 'whether the key is the beginning of many, all of which are to go';
comment on column media.removal.key is 'where it lies in the object store';
comment on column media.removal.error is 'why the last try failed';

comment on column media.photo.source_key is
    'where the original lies in the object store; it is never changed, and removed only together with the photo';

create schema events;
comment on schema events is 'Shared disposable cameras: written by the API servers, purged by the job event_purge';

create table events.event (
    id uuid not null default gen_random_uuid(),
    created_at timestamptz not null default clock_timestamp(),
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    photos_each int not null,
    photos_in_all int not null,
    changes bigint not null default 0,
    host text not null,
    title text not null,
    constraint event_pkey primary key (id),
    constraint event_times check (starts_at < ends_at and isfinite(starts_at) and isfinite(ends_at)),
    constraint event_limits check (photos_each between 1 and 1000 and photos_in_all between 1 and 20000),
    constraint event_host check (length(host) between 1 and 200),
    constraint event_title check (length(title) between 1 and 200)
) with (fillfactor = 70);
create index event_ends_at_index on events.event (ends_at, id);
comment on table events.event is
    'One row an event that was not purged. A transaction that adds or deletes photos locks it first, and updates it';
comment on column events.event.id is 'names the event; not to be guessed, so that who knows it may join';
comment on column events.event.created_at is 'when it was made';
comment on column events.event.starts_at is 'from when on photos are taken';
comment on column events.event.ends_at is 'until when';
comment on column events.event.photos_each is 'photos that a participant may have in it at a time';
comment on column events.event.photos_in_all is 'photos that all together may have in it at a time';
comment on column events.event.changes is
    'how often photos were added or deleted: at REPEATABLE READ a transaction that would count an older state raises 40001';
comment on column events.event.host is 'who made it, in the words of the app';
comment on column events.event.title is 'what it is called';

create table events.participant (
    joined_at timestamptz not null default clock_timestamp(),
    event_id uuid not null,
    user_id text not null,
    constraint participant_pkey primary key (event_id, user_id),
    constraint participant_of_event foreign key (event_id) references events.event (id) on delete cascade,
    constraint participant_user_id check (length(user_id) between 1 and 200)
);
comment on table events.participant is 'One row a person in an event';
comment on column events.participant.joined_at is 'since when';
comment on column events.participant.event_id is 'the event';
comment on column events.participant.user_id is 'who it is, in the words of the app';

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
    -- A key that lies elsewhere could be somebody else's object, which a purge would take along.
    constraint photo_below_event check (starts_with(source_key, 'events/' || event_id::text || '/'))
);
create index photo_event_index on events.photo (event_id, user_id);
comment on table events.photo is 'One row a photo in an event';
comment on column events.photo.added_at is 'when it was added';
comment on column events.photo.photo is 'the photo, in media.photo';
comment on column events.photo.event_id is 'the event';
comment on column events.photo.user_id is 'who took it';
comment on column events.photo.source_key is 'where its original lies: below events/, the event''s id and a slash';

create table events.rule (
    is_only boolean not null default true,
    told_at timestamptz not null default clock_timestamp(),
    kept_from text not null,
    constraint rule_pkey primary key (is_only),
    constraint rule_only check (is_only),
    constraint rule_kept_from check (kept_from in ('end', 'start'))
);
comment on table events.rule is 'One row: from when on the 8 days are counted, as the workers were last told (ERRAND_EVENTS_KEPT_FROM)';
comment on column events.rule.is_only is 'keeps it one row';
comment on column events.rule.told_at is 'since when it is this';
comment on column events.rule.kept_from is 'end or start of the event';
insert into events.rule (kept_from) values ('end');
