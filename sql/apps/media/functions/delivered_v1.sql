-- delivered_v1: records that the store has an upload, and deletes its bytes here. Photos that failed because they
-- lacked this original are compressed again. An original that no photo needs any more is listed for removal.
--
-- Returns kept; unwanted if neither the upload nor another record of that key exists any more, or if the object is
-- about to be removed: then the caller removes the object.
create or replace function media.delivered_v1(upload uuid, key text) returns text
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    of_photo media.photo;
    original text;
    removed timestamptz;
begin
    select photo.* into of_photo
    from media.upload as known
    join media.photo on photo.id = known.photo
    where known.id = delivered_v1.upload;
    -- While a photo of the same original waits or keeps it, this is all that is read of the others: the delivery of the
    -- last one waits for the lock of this one, and removes the original.
    if not exists (
        select from media.photo
        where source_key = of_photo.source_key and (state <> 'compressed' or keep_original)
    ) then
        original := of_photo.source_key;
    end if;
    -- Photos before uploads, as in removals.
    perform from media.photo
    where id = any (
        array(select id from media.photo where source_key = delivered_v1.key)
        || array(select id from media.photo where source_key = original and original_removed_at is null)
        || of_photo.id)
    order by id
    for update;
    update media.upload as known
    set delivered_at = coalesce(known.delivered_at, clock_timestamp()), bytes = null
    where known.id = delivered_v1.upload
    returning removed_at into removed;
    if found then
        if removed is not null then
            return 'unwanted';
        end if;
        perform media.original_arrived(delivered_v1.key);
        perform media.remove_original(original);
        perform media.remove_original(delivered_v1.key);
        return 'kept';
    end if;
    return case
        when exists (select from media.upload as known where known.key = delivered_v1.key)
            or exists (select from media.photo where result_key = delivered_v1.key)
        then 'kept' else 'unwanted' end;
end
$$;
comment on function media.delivered_v1(uuid, text) is
    'For the job upload_retry: records that the store has an upload; returns kept or unwanted';
