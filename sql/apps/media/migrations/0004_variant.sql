-- 0004_variant: variants of photos, such as thumbnails, made from the same decoded original as the result.
--
-- Why     A second photo of the same original would be decoded once more, and could be stored without the first.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create table media.variant (
    photo uuid not null,
    size bigint not null,
    width int not null,
    height int not null,
    quality int,
    name text collate "C" not null,
    key text not null,
    format text not null,
    sha256 bytea not null,
    bytes bytea,
    constraint variant_pkey primary key (photo, name),
    constraint variant_key unique (key),
    constraint variant_of_photo foreign key (photo) references media.photo (id) on delete cascade,
    constraint variant_name check (name ~ '^[a-z0-9_-]{1,32}$'),
    constraint variant_format check (format in ('jpeg', 'webp', 'avif')),
    constraint variant_sha256 check (length(sha256) = 32)
);
-- Compression would not make an image smaller.
alter table media.variant alter column bytes set storage external;
create index variant_staged_index on media.variant (photo) include (size) where bytes is not null;

comment on table media.variant is
    'One row for each variant of a photo that has its result. The upload of the result stores it too';
comment on column media.variant.photo is 'the photo';
comment on column media.variant.name is 'its name, unique within the photo';
comment on column media.variant.key is 'its key in the object store: media.variant_key says which';
comment on column media.variant.size is 'size in bytes';
comment on column media.variant.width is 'width in pixels';
comment on column media.variant.height is 'height in pixels';
comment on column media.variant.quality is 'encoder quality; null if the original was good as it was';
comment on column media.variant.format is 'jpeg, webp or avif';
comment on column media.variant.sha256 is 'hash of its bytes';
comment on column media.variant.bytes is 'its bytes; null once the store has them';
