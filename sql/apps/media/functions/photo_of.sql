-- photo_of: returns the stored photo of an owner that has this purpose: the newest one.
--
--   select result_key from media.photo_of('user-17', 'avatar');
--
-- No row if none is stored yet. While a newer one is on its way, and if it fails, the one before is returned.
-- errand: for enqueuer, ops
create or replace function media.photo_of(owner text, purpose text)
returns table (photo uuid, result_key text, bytes bigint, width int, height int, stored_at timestamptz)
language sql stable security definer set search_path = pg_catalog, media, pg_temp as $$
    select known.id, known.result_key, known.bytes, known.width, known.height, upload.delivered_at
    from media.photo as known
    join media.upload on upload.photo = known.id and upload.delivered_at is not null
    where known.owner = photo_of.owner and known.purpose = photo_of.purpose
    order by known.submitted_at desc
    limit 1
$$;
