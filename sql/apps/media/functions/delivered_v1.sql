-- delivered_v1: records that the store has an upload and, of a photo's result, all variants of the photo. Deletes their
-- bytes here. Photos that failed because they lacked this original are compressed again. An original that no photo
-- needs any more is listed for removal. Older photos of the owner with the same purpose are removed. When the upload is
-- stored first, it calls object_stored(key, photo) of each app that has it; photo is null for an object of none.
--
-- revision is that of the stored bytes. With is_last = false they stay here, because they are stored once more. Returns
-- delivered; superseded if the upload has got other bytes since, so that nothing is recorded; unwanted if neither the
-- upload nor another record of that key exists any more, or if the object is about to be removed: then the caller
-- removes the object.
create or replace function media.delivered_v1(
    upload uuid, key text, revision int default 1, is_last boolean default true
) returns text
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    of_photo media.photo;
    original text;
    existing media.upload;
    older uuid[];
    app text;
begin
    select photo.* into of_photo
    from media.upload
    join media.photo on photo.id = media.upload.photo
    where media.upload.id = delivered_v1.upload;
    -- While a photo of the same original waits or keeps it, this is all that is read of the others: the delivery of the
    -- last one waits for the lock of this one, and removes the original.
    if not exists (
        select from media.photo
        where source_key = of_photo.source_key and original_removed_at is null
            and (state <> 'compressed' or keep_original)
    ) then
        original := of_photo.source_key;
    end if;
    older := array(
        select id
        from media.photo
        where owner = of_photo.owner and purpose = of_photo.purpose and submitted_at < of_photo.submitted_at
        order by submitted_at desc);
    -- Photos before uploads, as in removals.
    perform from media.photo
    where id = any (
        array(select id from media.photo where source_key = delivered_v1.key)
        || array(select id from media.photo where source_key = original and original_removed_at is null)
        || array(
            select other.id
            from media.photo as replaced
            join media.photo as other on other.source_key = replaced.source_key
            where replaced.id = any (older))
        || of_photo.id)
    order by id
    for update;
    select * into existing from media.upload where id = delivered_v1.upload for update;
    if found then
        if existing.revision <> delivered_v1.revision then
            return 'superseded';
        elsif existing.removed_at is not null then
            return 'unwanted';
        end if;
        update media.upload
        set delivered_at = coalesce(existing.delivered_at, clock_timestamp()),
            bytes = case when not is_last then existing.bytes end,
            confirm_at = case when not is_last then existing.confirm_at end
        where id = existing.id;
        if existing.delivered_at is null then
            for app in select name from errand_internal.apps_with('object_stored(text,uuid)') as name loop
                execute format('select %I.object_stored($1, $2)', app) using existing.key, existing.photo;
            end loop;
        end if;
        if is_last then
            update media.variant set bytes = null where variant.photo = existing.photo;
        end if;
        perform media.original_arrived(delivered_v1.key);
        perform media.remove_original(original);
        perform media.remove_original(delivered_v1.key);
        perform media.remove_replaced(older);
        return 'delivered';
    end if;
    return case
        when exists (select from media.upload where media.upload.key = delivered_v1.key)
            or exists (select from media.photo where result_key = delivered_v1.key)
        then 'delivered' else 'unwanted' end;
end
$$;
