-- 0002_upload: objects on their way to the object store.
--
-- Why     A job of its own stores each object. Its bytes stay in the database until the store has them, so neither a
--         store that is down nor a lost host costs a photo.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create table media.upload (
    id uuid not null default gen_random_uuid(),
    photo uuid,
    job_id bigint,
    staged_at timestamptz not null default now(),
    delivered_at timestamptz,
    removed_at timestamptz,
    confirm_at timestamptz,
    size bigint not null,
    revision int not null default 1,
    replaces boolean not null default false,
    -- By bytes, so that all keys below a folder are a range of its index.
    key text collate "C" not null,
    type text not null,
    owner text,
    sha256 bytea not null,
    bytes bytea,
    constraint upload_pkey primary key (id),
    constraint upload_key unique (key),
    constraint upload_photo unique (photo),
    constraint upload_of_photo foreign key (photo) references media.photo (id) on delete cascade,
    constraint upload_sha256 check (length(sha256) = 32),
    constraint upload_bytes check (delivered_at is null or bytes is null or confirm_at is not null)
);
-- Compression would not make a JPEG smaller.
alter table media.upload alter column bytes set storage external;
create index upload_staged_index on media.upload (staged_at) include (size) where bytes is not null;
create index upload_owner_index on media.upload (owner) where owner is not null and photo is null;

comment on table media.upload is
    'One row for each submitted object. Its bytes stay here until the store has them, however long';
comment on column media.upload.id is 'the upload''s id';
comment on column media.upload.staged_at is 'when it was submitted';
comment on column media.upload.delivered_at is 'when the store had it; null until then';
comment on column media.upload.removed_at is
    'when it was listed for removal, as the original of photos whose results are stored; null if it was not';
comment on column media.upload.photo is 'the photo whose result it is; null if an app submitted it';
comment on column media.upload.job_id is 'the job that stores it';
comment on column media.upload.confirm_at is
    'when it is stored once more, because an attempt with the bytes before may run until then; null if none may';
comment on column media.upload.revision is 'counts the bytes that it has had, from 1 on';
comment on column media.upload.replaces is 'whether an existing object of its key is replaced';
comment on column media.upload.size is 'size in bytes';
comment on column media.upload.key is 'its key in the object store; unique';
comment on column media.upload.type is 'its media type, such as image/jpeg';
comment on column media.upload.owner is 'its owner, in the words of the app';
comment on column media.upload.sha256 is 'hash of its bytes at its submission';
comment on column media.upload.bytes is 'its bytes; null once the store has them for good';
