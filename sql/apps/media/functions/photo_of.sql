-- photo_of: returns the stored photo of an owner that has this purpose: the newest one.
--
--   select result_key from media.photo_of('user-17', 'avatar');
--
-- No row if none is stored yet. While a newer one is on its way, and if it fails, the one before is returned.
-- errand: for enqueuer, ops
create or replace function media.photo_of(owner text, purpose text)
returns table (photo uuid, result_key text, bytes bigint, width int, height int, stored_at timestamptz)
language sql stable security definer set search_path = pg_catalog, media, pg_temp as $$
    select existing.id, existing.result_key, existing.bytes, existing.width, existing.height, upload.delivered_at
    from media.photo as existing
    join media.upload on upload.photo = existing.id and upload.delivered_at is not null
    where existing.owner = photo_of.owner and existing.purpose = photo_of.purpose
    order by existing.submitted_at desc
    limit 1
$$;
