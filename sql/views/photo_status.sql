-- photo_status: what has become of submitted photos.
create or replace view media.photo_status as
select
    id, owner, state, source_key, source_format, source_bytes, result_key, bytes,
    round(100.0 * bytes / nullif(source_bytes, 0), 1) as percent, width, height, quality, encodes, milliseconds,
    submitted_at, compressed_at, error
from media.photo;
comment on view media.photo_status is 'What has become of submitted photos: state, sizes, quality, error';
