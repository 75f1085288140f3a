-- photo_to_compress_v1: returns what the job needs to know of a photo; no row if there is no such photo.
--
-- bytes are those of the original if it was submitted here and the store doesn't have it yet. is_delivered: an upload
-- has put it into the store, and nothing has removed it since. timeouts: as in media.timed_out_v1. min_quality and
-- max_quality: the qualities to choose from; null for those of the format.
-- is_foreign: the original belongs to another owner, who handed it over while the photo was submitted.
create or replace function media.photo_to_compress_v1(photo uuid)
returns table (
    source_key text, state text, bytes bytea, is_delivered boolean, is_foreign boolean, max_bytes int, max_edge int,
    timeouts int, format text, variants jsonb, min_quality int, max_quality int
)
language sql stable security definer set search_path = pg_catalog, media, pg_temp as $$
    select existing.source_key, existing.state, upload.bytes,
        coalesce(upload.delivered_at is not null and upload.removed_at is null, false),
        media.is_foreign(existing.source_key, existing.owner), existing.max_bytes, existing.max_edge, existing.timeouts,
        existing.format,
        existing.variants, lower(existing.qualities), upper(existing.qualities) - 1
    from media.photo as existing
    left join media.upload on upload.key = existing.source_key and existing.state <> 'compressed'
    where existing.id = photo_to_compress_v1.photo
$$;
