-- remove_original: lists the object of a key for removal if it is the original of photos, all of whose results are
-- stored, and if none of them keeps it. It stays if it is also the result or a variant of a photo, or if its upload is
-- not stored yet: the delivery of that upload calls this again.
--
-- The caller has locked the photos of that original. Returns whether it is listed now.
create or replace function media.remove_original(key text) returns boolean
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
begin
    if remove_original.key is null
        or not exists (
            select from media.photo where source_key = remove_original.key and original_removed_at is null)
        or exists (
            select
            from media.photo
            left join media.upload on upload.photo = photo.id
            where photo.source_key = remove_original.key and photo.original_removed_at is null
                and (photo.keep_original or photo.state <> 'compressed'
                    or upload.id is not null and upload.delivered_at is null))
        or exists (
            select from media.upload
            where upload.key = remove_original.key
                and (delivered_at is null or confirm_at is not null))
        or media.is_result(remove_original.key)
    then
        return false;
    end if;
    -- An attempt that was lost may be storing it again: then it is removed once more when no attempt can still run.
    insert into media.removal as existing (in_flight, key)
    select
        exists (
            select from media.upload
            where upload.key = remove_original.key and delivered_at > clock_timestamp() - interval '90 seconds'),
        remove_original.key
    on conflict on constraint removal_key do nothing;
    update media.photo
    set original_removed_at = clock_timestamp()
    where source_key = remove_original.key and original_removed_at is null;
    update media.upload set removed_at = clock_timestamp() where upload.key = remove_original.key;
    return true;
end
$$;
