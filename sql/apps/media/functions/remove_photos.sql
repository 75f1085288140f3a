-- remove_photos: deletes photos with all their rows, and lists their objects for removal, in one transaction.
--
-- Jobs that compress or store them are cancelled, failed ones discarded, and bytes that wait for the store are deleted.
-- A running job is told to stop; an object that it may be storing now is removed once more when no upload of it can
-- still run. An original is removed too, unless another photo needs it or it is another owner's. The caller enqueues
-- the removal. Returns the number of deleted photos, and the ids of their jobs, all of which have ended.
create or replace function media.remove_photos(photos uuid[], reason text, receipt bigint default null)
returns table (deleted int, jobs bigint[])
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
declare
    -- Originals of these photos alone, and originals that other photos have too.
    own text[];
    shared text[];
    uploads uuid[];
    stored_by bigint[];
    unfinished bigint[];
    failed bigint[];
    keys text[];
begin
    -- Photos, then uploads, then jobs: the order of compressions and uploads. What they commit until then is seen
    -- below.
    perform from media.photo
    where id = any (
        array(
            select other.id
            from media.photo as removed
            join media.photo as other on other.source_key = removed.source_key
            where removed.id = any (remove_photos.photos)))
    order by id
    for update;
    select
        array_agg(source_key) filter (
            where not is_shared and not is_result and not is_foreign and (is_there or not is_other)),
        array_agg(source_key) filter (where is_shared)
    into own, shared
    from (
        select
            source_key, bool_or(original_removed_at is null) as is_there,
            count(*) filter (where original_removed_at is null) < (
                select count(*)
                from media.photo as other
                where other.source_key = removed.source_key and other.original_removed_at is null
            ) as is_shared,
            media.is_result(source_key) as is_result, bool_or(media.is_foreign(source_key, owner)) as is_foreign,
            -- What an app has put in place of the original.
            exists (
                select from media.upload where key = removed.source_key and photo is null and removed_at is null
            ) as is_other
        from media.photo as removed
        where id = any (remove_photos.photos)
        group by source_key
    ) as original;
    perform
    from media.upload
    where photo = any (remove_photos.photos) or key = any (own) and photo is null
    order by id
    for update;
    select coalesce(array_agg(id), '{}'), coalesce(array_agg(job_id), '{}') into uploads, stored_by
    from media.upload
    where photo = any (remove_photos.photos) or key = any (own) and photo is null;
    insert into media.removal as existing (receipt_id, in_flight, key)
    select remove_photos.receipt, bool_or(object.in_flight), object.key
    from (
        select key, false as in_flight from unnest(own) as key
        union all
        select key, in_flight from media.result_keys(remove_photos.photos)
        union all
        select key, delivered_at is null or confirm_at is not null from media.upload where id = any (uploads)
    ) as object
    group by object.key
    on conflict on constraint removal_key do nothing;
    keys := array(select 'upload_retry/' || id from unnest(uploads) as id)
        || array(select 'image_compression/' || id from unnest(remove_photos.photos) as id);
    select array_agg(id) into unfinished from errand.job where id = any (stored_by) or unique_key = any (keys);
    if unfinished is not null then
        perform errand.cancel(unfinished, remove_photos.reason);
    end if;
    select array_agg(id) into failed
    from errand.failed
    where id = any (stored_by)
        or id = any (array(select job_id from media.photo where id = any (remove_photos.photos)));
    if failed is not null then
        perform errand.discard(failed, remove_photos.reason);
    end if;
    delete from media.upload where id = any (uploads);
    delete from media.photo where id = any (remove_photos.photos);
    get diagnostics deleted = row_count;
    perform media.remove_original(key) from unnest(shared) as key;
    jobs := array(select id from errand.history where unique_key = any (keys));
    return next;
end
$$;
