-- erase_person: deletes all photos and uploads of an owner, whatever their state, and lists their objects for removal.
-- For the erasure of a person's data.
--
-- Jobs are cancelled, and bytes that wait for the store are deleted. A receipt with numbers says when the store has
-- confirmed the last object. Returns the number of deleted rows; 0 if there is nothing, as at a second call. Raises
-- ER422 without an owner; above READ COMMITTED, 40001 if a row has changed since the transaction's snapshot.
create or replace function media.erase_person(user_id text) returns bigint
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
declare
    reason constant text := 'its owner is erased';
    photos uuid[];
    results int;
    uploads uuid[];
    stored_by bigint[];
    jobs bigint[];
    made_receipt bigint;
begin
    if erase_person.user_id is null then
        raise exception 'erase_person: user_id: expected 1 to 200 characters, got null' using errcode = 'ER422';
    end if;
    perform media.check_owner('erase_person', erase_person.user_id);
    select coalesce(array_agg(id), '{}') into photos from media.photo where owner = erase_person.user_id;
    select coalesce(array_agg(id), '{}') into uploads
    from media.upload
    where owner = erase_person.user_id and photo is null;
    if photos = '{}' and uploads = '{}' then
        return 0;
    end if;
    insert into media.receipt (reason, people, photos)
    values ('erasure', 1, cardinality(photos))
    returning id into made_receipt;
    select (select count(*) from media.upload where photo = any (photos))
        + (select count(*) from media.variant where photo = any (photos))
    into results;
    perform media.remove_photos(photos, reason, made_receipt);
    -- Handed over for no photo.
    perform from media.upload where id = any (uploads) order by id for update;
    select coalesce(array_agg(job_id), '{}') into stored_by from media.upload where id = any (uploads);
    insert into media.removal (receipt_id, in_flight, key)
    select made_receipt, delivered_at is null or confirm_at is not null, key
    from media.upload
    where id = any (uploads)
    on conflict on constraint removal_key do nothing;
    select array_agg(id) into jobs from errand.job where id = any (stored_by);
    if jobs is not null then
        perform errand.cancel(jobs, reason);
    end if;
    select array_agg(id) into jobs from errand.failed where id = any (stored_by);
    if jobs is not null then
        perform errand.discard(jobs, reason);
    end if;
    delete from media.upload where id = any (uploads);
    if not exists (select from media.removal where receipt_id = made_receipt) then
        update media.receipt set finished_at = clock_timestamp() where id = made_receipt;
    end if;
    perform errand.enqueue('object_removal');
    return cardinality(photos) + results + cardinality(uploads);
end
$$;
