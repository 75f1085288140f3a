-- variant_status: the variants of photos that have their results.
-- errand: for enqueuer, ops, monitor
create or replace view media.variant_status as
select
    variant.photo, variant.name, variant.key, variant.format, variant.size as bytes, variant.width, variant.height,
    variant.quality,
    upload.delivered_at
from media.variant
left join media.upload on upload.photo = variant.photo;
comment on view media.variant_status is 'The variants of photos that have their results: keys and sizes';
comment on column media.variant_status.photo is 'the photo''s id';
comment on column media.variant_status.name is 'its name, unique within the photo';
comment on column media.variant_status.key is 'its key in the object store';
comment on column media.variant_status.format is 'jpeg, webp or avif';
comment on column media.variant_status.bytes is 'size in bytes';
comment on column media.variant_status.width is 'width in pixels';
comment on column media.variant_status.height is 'height in pixels';
comment on column media.variant_status.quality is 'encoder quality';
comment on column media.variant_status.delivered_at is
    'when the object store had it, and the result of the photo';
