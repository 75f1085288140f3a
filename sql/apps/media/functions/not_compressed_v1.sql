-- not_compressed_v1: records why a photo can't be compressed. A photo that has a result keeps it.
--
-- is_original_missing: neither the store nor the database had the original when the job looked for it. If an app has
-- submitted it since then, nothing is recorded. Returns whether the photo has failed. If it has not, the caller looks
-- at it again: it has a result, its original is there, or it is gone.
create or replace function media.not_compressed_v1(
    photo uuid, error text, is_original_missing boolean default false
) returns boolean
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    existing media.photo;
begin
    select * into existing from media.photo where id = not_compressed_v1.photo for update;
    if not found or existing.state = 'compressed' or not_compressed_v1.is_original_missing and exists (
        select from media.upload
        where key = existing.source_key and (bytes is not null or delivered_at is not null and removed_at is null)
    ) then
        return false;
    end if;
    update media.photo
    set state = 'failed', error = left(not_compressed_v1.error, 4000)
    where id = not_compressed_v1.photo;
    return true;
end
$$;
