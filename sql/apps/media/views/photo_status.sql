-- photo_status: what has become of submitted photos.
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
    -- Without an upload its worker, of an earlier version, has stored it itself.
    case when upload.id is null then photo.compressed_at else upload.delivered_at end as delivered_at, photo.job_id
from media.photo
left join media.upload on upload.photo = photo.id;
comment on view media.photo_status is 'What has become of submitted photos: state, sizes, quality, error';
comment on column media.photo_status.id is 'names the photo';
comment on column media.photo_status.owner is 'whose it is, in the words of the app';
comment on column media.photo_status.state is 'submitted, compressed (see media.upload_status), delivered or failed';
comment on column media.photo_status.source_key is 'where the original lies';
comment on column media.photo_status.source_format is 'format of the original';
comment on column media.photo_status.source_bytes is 'size of the original';
comment on column media.photo_status.result_key is 'where the result lies';
comment on column media.photo_status.bytes is 'size of the result';
comment on column media.photo_status.percent is 'size of the result, of 100 of the original';
comment on column media.photo_status.width is 'width of the result, in pixels';
comment on column media.photo_status.height is 'height of the result, in pixels';
comment on column media.photo_status.quality is 'encoder quality of the result';
comment on column media.photo_status.encodes is 'how many times it was encoded to find that';
comment on column media.photo_status.milliseconds is 'how long the compression took';
comment on column media.photo_status.submitted_at is 'when it was submitted';
comment on column media.photo_status.compressed_at is 'when its result was recorded';
comment on column media.photo_status.error is 'why it failed';
comment on column media.photo_status.delivered_at is 'when the object store had the result';
comment on column media.photo_status.job_id is 'the job that compresses it';
