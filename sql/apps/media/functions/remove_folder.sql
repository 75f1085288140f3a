-- remove_folder: lists all objects below a key for removal, whether or not the database knows them. The folder is
-- checked once uploads on their way have arrived. Uploads without a photo there are cancelled, and their bytes deleted.
-- Returns the ids of their jobs, all of which have ended. Raises ER422 for a key without a slash at its end.
create or replace function media.remove_folder(folder text, reason text, receipt bigint default null) returns bigint[]
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
declare
    -- The first text after all that begin with the folder: a slash comes right before a zero.
    bound constant text := left(remove_folder.folder, -1) || '0';
    uploads uuid[];
    stored_by bigint[];
    unfinished bigint[];
    failed bigint[];
begin
    perform media.check_key('remove_folder: folder', rtrim(remove_folder.folder, '/'));
    if right(remove_folder.folder, 1) <> '/' then
        raise exception 'remove_folder: folder: expected a slash at its end, got %', quote_literal(remove_folder.folder)
            using errcode = 'ER422';
    end if;
    perform from media.upload where key > remove_folder.folder and key < bound order by id for update;
    select array_agg(id), array_agg(job_id) into uploads, stored_by
    from media.upload
    where key > remove_folder.folder and key < bound;
    if uploads is not null then
        select array_agg(id) into unfinished from errand.job where id = any (stored_by);
        if unfinished is not null then
            perform errand.cancel(unfinished, remove_folder.reason);
        end if;
        select array_agg(id) into failed from errand.failed where id = any (stored_by);
        if failed is not null then
            perform errand.discard(failed, remove_folder.reason);
        end if;
        delete from media.upload where id = any (uploads);
    end if;
    insert into media.removal (receipt_id, in_flight, is_folder, key)
    values (remove_folder.receipt, true, true, remove_folder.folder)
    on conflict on constraint removal_key do nothing;
    return array(
        select id
        from errand.history
        where unique_key = any (array(select 'upload_retry/' || upload from unnest(uploads) as upload)));
end
$$;
