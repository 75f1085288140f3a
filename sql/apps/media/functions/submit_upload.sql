-- submit_upload: takes an object from an app, for example after the app's own upload has failed, and enqueues its
-- delivery. Its bytes and the job commit together. The bytes stay here until the store has them.
--
--   select media.submit_upload('uploads/4711.jpg', '\xffd8…', owner => 'user-17');
--   select media.submit_upload('avatars/user-17.jpg', '\xffd8…', owner => 'user-17', replace => true);
--
-- The attempts count from here. An existing object of that key isn't replaced: the same bytes are a success, others a
-- failure. With replace => true it is replaced: readers get the old object or the new one, and of several calls the one
-- that commits last wins, whatever its attempts do. The owner of a key can't change.
--
-- If it is the original of a photo, that may be submitted before or after; with replace, submit both in one
-- transaction. Returns the upload's id, which stays the same for a key; media.upload_status shows its state. The same
-- call again returns the same upload, delivered or not, and even if it was removed as the original of a stored photo.
-- If another photo with that original waits by then, it is stored again.
--
-- type is image/…, video/…, audio/… or application/octet-stream, but not image/svg+xml, which a browser runs as a page.
-- Raises ER422 for an invalid key, type or owner, ER413 for more than 16 MB, ER409 for a key that was submitted before
-- with other bytes, type or owner (with replace, of another owner, or that of a photo's result), for the original of
-- another owner's photo, for an object that a job makes, and for one whose last object is about to be removed; 40001 if
-- another transaction has just submitted or removed it: retry the transaction.
-- errand: for enqueuer, ops
create or replace function media.submit_upload(
    key text, bytes bytea, type text default 'image/jpeg', owner text default null, replace boolean default false
) returns uuid
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    existing media.upload;
    is_known boolean;
    is_same boolean;
    is_locked boolean := false;
begin
    perform media.check_key('submit_upload: key', submit_upload.key);
    perform media.check_owner('submit_upload', submit_upload.owner);
    if submit_upload.type is null or submit_upload.type ~ 'svg|xml'
        or submit_upload.type !~ '^((image|video|audio)/[a-z0-9.+-]{1,80}|application/octet-stream)$'
    then
        raise exception
            'submit_upload: type: expected image/…, video/…, audio/… or application/octet-stream, and no SVG, got %',
            quote_nullable(left(submit_upload.type, 100)) using errcode = 'ER422';
    elsif submit_upload.bytes is null or length(submit_upload.bytes) = 0 then
        raise exception 'submit_upload: bytes: expected some, got none' using errcode = 'ER422';
    elsif length(submit_upload.bytes) > 16 << 20 then
        raise exception 'submit_upload: bytes: expected at most 16 MB, got %', length(submit_upload.bytes)
            using errcode = 'ER413';
    elsif submit_upload.replace is null then
        raise exception 'submit_upload: replace: expected true or false, got null' using errcode = 'ER422';
    elsif media.is_generated(submit_upload.key) then
        raise exception 'submit_upload: key: expected one of no object that a job makes, got %',
            quote_literal(submit_upload.key) using errcode = 'ER409';
    end if;
    -- Without locks first, then with them; again if another transaction has just submitted it.
    for round in 1..4 loop
        if is_locked then
            -- In one statement: one that commits between two would be changed without its lock.
            select * into existing from media.upload where upload.key = submit_upload.key for update;
        else
            select * into existing from media.upload where upload.key = submit_upload.key;
        end if;
        is_known := found;
        is_same := is_known and (existing.sha256, existing.type, existing.owner)
            is not distinct from (sha256(submit_upload.bytes), submit_upload.type, submit_upload.owner);
        if is_same and (not submit_upload.replace or existing.replaces or existing.delivered_at is not null) and (
            existing.removed_at is null
            or not exists (select from media.photo where source_key = submit_upload.key and state <> 'compressed')
        ) then
            return existing.id;
        elsif is_known and not is_same and not submit_upload.replace then
            raise exception
                'submit_upload: key: expected one that was not submitted with other bytes, type or owner, got %',
                quote_literal(submit_upload.key)
                using errcode = 'ER409', hint = 'media.upload_status shows the state of that one.';
        elsif is_known and (existing.photo is not null or existing.owner is distinct from submit_upload.owner)
            or exists (select from media.variant where variant.key = submit_upload.key)
            or submit_upload.owner is not null and exists (
                select from media.photo
                where source_key = submit_upload.key and photo.owner is distinct from submit_upload.owner)
        then
            raise exception 'submit_upload: key: expected one of the same owner, and of no result of a photo, got %',
                quote_literal(submit_upload.key) using errcode = 'ER409';
        elsif not is_locked then
            -- Photos before uploads, in the order in which all sessions lock them.
            perform from media.photo where source_key = submit_upload.key order by id for update;
            perform media.lock_original(submit_upload.key);
            perform media.check_not_removed('submit_upload: key', submit_upload.key);
            is_locked := true;
        elsif is_known then
            perform media.restage(
                existing.id, submit_upload.type, submit_upload.bytes, submit_upload.replace or existing.replaces);
            return existing.id;
        else
            begin
                return media.stage(
                    null, submit_upload.key, submit_upload.type, submit_upload.owner, submit_upload.bytes,
                    submit_upload.replace);
            exception
                when unique_violation then
                    null;
            end;
        end if;
    end loop;
    -- At REPEATABLE READ, the upload of another transaction isn't visible.
    raise exception 'submit_upload: key: another transaction has just submitted %', quote_literal(submit_upload.key)
        using errcode = '40001', hint = 'Retry the transaction.';
end
$$;
