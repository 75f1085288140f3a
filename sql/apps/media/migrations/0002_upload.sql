-- 0002_upload: photos on their way to the object store, and how they get there.
--
-- Why     a photo is stored by a job of its own: its bytes stay in the database until the store has them, so that neither a
--         store that is down nor a host that is lost costs a photo.
-- Locks   media.photo, for milliseconds: rows of the new table refer to it.
-- Before  nothing was released before.
create table media.upload (
    id uuid not null default gen_random_uuid(),
    photo uuid,
    job_id bigint,
    staged_at timestamptz not null default now(),
    delivered_at timestamptz,
    size bigint not null,
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
    constraint upload_bytes check (delivered_at is null or bytes is null)
);
-- JPEG doesn't get smaller: it would only cost time.
alter table media.upload alter column bytes set storage external;
create index upload_waiting_index on media.upload (staged_at) where delivered_at is null;

comment on table media.upload is
    'One row an object that was handed over to be stored. Its bytes are kept here until the store has them, however long';
comment on column media.upload.id is 'names it';
comment on column media.upload.staged_at is 'when it was handed over';
comment on column media.upload.delivered_at is 'when the store had it; null until then';
comment on column media.upload.photo is 'the photo whose result it is; null where an app handed it over itself';
comment on column media.upload.job_id is 'the job that stores it';
comment on column media.upload.size is 'bytes';
comment on column media.upload.key is 'where it goes in the object store; no two have the same';
comment on column media.upload.type is 'what a reader is told that it is, such as image/jpeg';
comment on column media.upload.owner is 'whose it is, in the words of the app';
comment on column media.upload.sha256 is 'of its bytes, taken when it was handed over';
comment on column media.upload.bytes is 'what is to be stored; null once the store has it';
