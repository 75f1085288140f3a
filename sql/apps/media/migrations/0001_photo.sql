-- 0001_photo: photos, from their submission to their compressed form.
--
-- Why     The API servers submit a photo with one call. Its row and its job commit together.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create schema media;
comment on schema media is 'Photos: submitted by the API servers, compressed by the job image_compression';
insert into errand.app (name) values ('media');

create table media.photo (
    id uuid not null default gen_random_uuid(),
    job_id bigint,
    submitted_at timestamptz not null default now(),
    compressed_at timestamptz,
    original_removed_at timestamptz,
    source_bytes bigint,
    bytes bigint,
    milliseconds double precision,
    source_width int,
    source_height int,
    width int,
    height int,
    quality int,
    encodes int,
    max_bytes int not null default 500000,
    max_edge int not null default 2560,
    qualities int4range,
    timeouts int not null default 0,
    keep_original boolean not null default false,
    format text not null default 'jpeg',
    variants jsonb not null default '[]',
    state text not null default 'submitted',
    owner text,
    idempotency_key text,
    purpose text,
    source_key text not null,
    source_format text,
    result_key text,
    error text,
    constraint photo_pkey primary key (id),
    constraint photo_idempotency_key unique (idempotency_key),
    constraint photo_state check (state in ('submitted', 'compressed', 'failed')),
    constraint photo_max_bytes check (max_bytes between 1000 and 16777216),
    constraint photo_max_edge check (max_edge between 16 and 16384),
    constraint photo_qualities check (qualities <@ int4range(1, 101) and not isempty(qualities)),
    constraint photo_format check (format in ('jpeg', 'webp', 'avif')),
    constraint photo_purpose check (purpose is null or purpose ~ '^[a-z][a-z0-9_]{0,49}$' and owner is not null),
    constraint photo_result check ((state = 'compressed') = (result_key is not null)),
    constraint photo_source_key check (length(source_key) between 1 and 1024)
);
create index photo_owner_index on media.photo (owner, submitted_at) where owner is not null;
create index photo_purpose_index on media.photo (owner, purpose, submitted_at) where purpose is not null;
create index photo_source_key_index on media.photo (source_key);

comment on table media.photo is 'One row for each submitted photo';
comment on column media.photo.job_id is 'the job that compresses it';
comment on column media.photo.idempotency_key is
    'the app''s name of this submission: a second one with it returns this photo; null = none';
comment on column media.photo.owner is 'its owner, in the words of the app';
comment on column media.photo.purpose is
    'what it is for, such as avatar: when it is stored, the owner''s older ones of that purpose go; null = none';
comment on column media.photo.state is 'submitted, compressed or failed';
comment on column media.photo.source_key is 'key of the original in the object store; never changed';
comment on column media.photo.max_bytes is 'the result has fewer bytes than this';
comment on column media.photo.max_edge is 'most pixels on the longer side of the result';
comment on column media.photo.qualities is
    'encoder qualities to choose from for the result, 1 to 100; null = those of the format';
comment on column media.photo.format is 'format of the result: jpeg, webp or avif';
comment on column media.photo.variants is
    'what its variants are to be: an array of objects with name, max_bytes, max_edge, format, by name';
comment on column media.photo.keep_original is
    'whether the original stays; otherwise it is removed once the store has the result';
comment on column media.photo.original_removed_at is
    'when its original was listed for removal, or replaced by another object; null while it may be there';
comment on column media.photo.result_key is 'key of the result; null until there is one';
comment on column media.photo.bytes is 'size of the result';
comment on column media.photo.quality is 'encoder quality of the result; null if the original was good as it was';
comment on column media.photo.encodes is 'number of encodings until that quality was found';
comment on column media.photo.milliseconds is 'duration of the compression';
comment on column media.photo.timeouts is
    'how often the clock has ended its compression, as on a busy host, since it was submitted or retried';
comment on column media.photo.error is 'why it failed: a stable code, a colon, and details';

create table media.store (
    is_only boolean not null default true,
    recorded_at timestamptz not null default clock_timestamp(),
    id uuid not null,
    constraint store_pkey primary key (is_only),
    constraint store_only check (is_only)
);
comment on table media.store is 'One row: the object store of this database, by the id in its marker';
comment on column media.store.is_only is 'true: allows one row';
comment on column media.store.recorded_at is 'when it was recorded';
comment on column media.store.id is 'the id in the marker of the store';
comment on column media.photo.submitted_at is 'when it was submitted';
comment on column media.photo.compressed_at is 'when its result was recorded';
comment on column media.photo.source_bytes is 'size of the original';
comment on column media.photo.source_width is 'width of the original, in pixels';
comment on column media.photo.source_height is 'height of the original, in pixels';
comment on column media.photo.source_format is 'format of the original, by its bytes';
comment on column media.photo.width is 'width of the result, in pixels';
comment on column media.photo.height is 'height of the result, in pixels';
comment on column media.photo.id is 'the photo''s id';
