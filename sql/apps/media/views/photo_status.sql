-- photo_status: the submitted photos and their states.
-- errand: for enqueuer, ops, monitor
-- errand: hides owner, source_key, error
create or replace view media.photo_status as
select
    photo.id, photo.owner,
    case
        when photo.state = 'compressed' and (upload.id is null or upload.delivered_at is not null) then 'delivered'
        else photo.state
    end as state,
    photo.source_key, photo.source_format, photo.source_bytes, photo.result_key, photo.bytes,
    round(100.0 * photo.bytes / nullif(photo.source_bytes, 0), 1) as percent, photo.width, photo.height, photo.quality,
    photo.encodes, photo.milliseconds, photo.submitted_at, photo.compressed_at, photo.error,
    -- Without an upload, an earlier version of the worker has stored it itself.
    case when upload.id is null then photo.compressed_at else upload.delivered_at end as delivered_at, photo.job_id,
    photo.keep_original, photo.original_removed_at, photo.format, photo.max_bytes, photo.max_edge,
    photo.variants, photo.qualities, photo.purpose
from media.photo
left join media.upload on upload.photo = photo.id;
comment on view media.photo_status is 'The submitted photos: state, sizes, quality, error';
comment on column media.photo_status.id is 'the photo''s id';
comment on column media.photo_status.owner is 'its owner, in the words of the app';
comment on column media.photo_status.state is 'submitted, compressed (see media.upload_status), delivered or failed';
comment on column media.photo_status.source_key is 'key of the original';
comment on column media.photo_status.source_format is 'format of the original';
comment on column media.photo_status.source_bytes is 'size of the original';
comment on column media.photo_status.result_key is 'key of the result';
comment on column media.photo_status.bytes is 'size of the result';
comment on column media.photo_status.percent is 'size of the result, in percent of the original';
comment on column media.photo_status.width is 'width of the result, in pixels';
comment on column media.photo_status.height is 'height of the result, in pixels';
comment on column media.photo_status.quality is 'encoder quality of the result';
comment on column media.photo_status.encodes is 'number of encodings until that quality was found';
comment on column media.photo_status.milliseconds is 'duration of the compression';
comment on column media.photo_status.submitted_at is 'when it was submitted';
comment on column media.photo_status.compressed_at is 'when its result was recorded';
comment on column media.photo_status.error is 'why it failed';
comment on column media.photo_status.delivered_at is 'when the object store had the result';
comment on column media.photo_status.job_id is 'the job that compresses it';
comment on column media.photo_status.keep_original is
    'whether the original stays; otherwise it is removed once the store has the result';
comment on column media.photo_status.original_removed_at is
    'when its original was listed for removal, or replaced; null while it may be there';
comment on column media.photo_status.format is 'format of the result: jpeg, webp or avif';
comment on column media.photo_status.max_bytes is 'the result has fewer bytes than this';
comment on column media.photo_status.max_edge is 'most pixels on the longer side of the result';
comment on column media.photo_status.variants is
    'what its variants are to be: an array of objects with name, max_bytes, max_edge, format; media.variant_status has '
    'those that were made';
comment on column media.photo_status.qualities is
    'encoder qualities to choose from; null = those of the format';
comment on column media.photo_status.purpose is 'what it is for, such as avatar; null = none';
