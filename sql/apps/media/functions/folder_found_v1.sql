-- folder_found_v1: lists the objects below a removed folder for removal, on its receipt, and counts the deleted objects
-- there: those were removed at once because their names are no keys. The folder itself stays on the list until nothing
-- is found there. It is checked again after 1 s if something new was found or deleted, else after 10 s.
create or replace function media.folder_found_v1(id bigint, keys text[], deleted int) returns void
language sql security definer set search_path = pg_catalog, media, pg_temp as $$
    with folder as (
        select removal.receipt_id from media.removal where removal.id = folder_found_v1.id
    ),
    added as (
        insert into media.removal (receipt_id, in_flight, key)
        select folder.receipt_id, false, found.key
        from folder
        cross join unnest(keys) as found (key)
        on conflict on constraint removal_key do nothing
        returning removal.id
    ),
    counted as (
        update media.receipt
        set objects = receipt.objects + folder_found_v1.deleted
        from folder
        where receipt.id = folder.receipt_id
    )
    update media.removal as existing
    set error = null, try_at = clock_timestamp() + case
        when folder_found_v1.deleted > 0 or exists (select from added) then interval '1 s' else interval '10 s'
    end
    where existing.id = folder_found_v1.id
$$;
