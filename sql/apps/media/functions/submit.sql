-- submit: records a photo in the object store, and enqueues its compression. Row and job commit together.
--
--   select media.submit('uploads/2026/4711.heic', owner => 'user-17', idempotency_key => 'upload-4711');
--   select media.submit('uploads/2026/4711.heic', keep_original => true);
--   select media.submit('uploads/2026/4711.heic', max_bytes => 100000, max_edge => 512, format => 'webp');
--   select media.submit('uploads/2026/4711.heic', qualities => '[50,80]');
--   select media.submit('avatars/4711.heic', owner => 'user-17', purpose => 'avatar');
--   select media.submit(
--       'uploads/2026/4711.heic',
--       variants => '[{"name": "thumb", "max_edge": 320, "max_bytes": 40000, "format": "webp"}]');
--
-- Returns the photo's id; media.photo_status shows its state. The original may also be an upload of media.submit_upload
-- that is not stored yet. Its owner is that of the photo, if it has one. Without an idempotency_key each call creates a
-- photo. With one, the same call returns the same photo for as long as that exists.
--
-- The original is removed once the store has the result, because it has the photo's place and other metadata, unless
-- keep_original is true. If several photos have one original, it is removed after the last of them, and stays if one of
-- them keeps it. The original of a failed photo stays until that is retried or removed.
--
-- The result has fewer than max_bytes bytes (1,000 to 16,777,216), at most max_edge pixels on its longer side (16 to
-- 16,384), and the format jpeg, webp or avif. qualities is the range of encoder qualities to choose from, within 1 to
-- 100; null is the format's own, 72 to 100 for jpeg. The highest that fits is taken. If not even the lowest does, the
-- result has fewer pixels, and below 1,600 a lower quality.
--
-- An owner has one stored photo of each purpose, such as avatar: media.photo_of returns it. When a newer one is stored,
-- all older ones are removed, with their rows at once and their objects within seconds. Until then the older one stays,
-- also if the newer one fails. The order of the calls counts, not that of the storing. An older one stays while another
-- photo is made from its result, or keeps that as its original, or while a foreign key refers to it.
--
-- variants are up to four smaller results, such as a thumbnail, made of the same decoded original and stored before the
-- result: each has a name of its own (1 to 32 of a-z 0-9 _ -) and a max_edge; max_bytes and format are those of the
-- result where they are left out. Order means nothing. media.variant_status has
-- their keys.
--
-- Raises ER422 for an invalid key (keys are parts of letters, digits and . _ - + @, joined by slashes, none of them
-- beginning with a dot), for an owner or idempotency_key that is not 1 to 200 characters long, for a max_bytes,
-- max_edge, format or qualities out of bounds, for a purpose without an owner or not of a-z 0-9 _, and for variants
-- that are not as above; ER409 for an idempotency_key of another submission, for a key of another owner's upload or
-- photo, or of an object that a job makes, and for a key whose object is about to be removed, such as the original
-- of a photo that was just stored. Above READ COMMITTED, 40001 if that has happened since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function media.submit(
    source_key text,
    owner text default null,
    idempotency_key text default null,
    keep_original boolean default false,
    max_bytes int default 500000,
    max_edge int default 2560,
    format text default 'jpeg',
    variants jsonb default '[]',
    qualities int4range default null,
    purpose text default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    made uuid;
    existing media.photo;
    wanted jsonb;
    present timestamptz := now();
begin
    perform media.check_key('submit: source_key', submit.source_key);
    perform media.check_owner('submit', submit.owner);
    if length(submit.idempotency_key) not between 1 and 200 then
        raise exception 'submit: idempotency_key: expected 1 to 200 characters or null, got %',
            length(submit.idempotency_key) using errcode = 'ER422';
    elsif submit.purpose !~ '^[a-z][a-z0-9_]{0,49}$' then
        raise exception 'submit: purpose: expected a-z, then up to 49 of a-z 0-9 _, got %',
            quote_literal(left(submit.purpose, 100)) using errcode = 'ER422';
    elsif submit.purpose is not null and submit.owner is null then
        raise exception 'submit: owner: expected one, since the photo has a purpose, got null' using errcode = 'ER422';
    elsif submit.keep_original is null then
        raise exception 'submit: keep_original: expected true or false, got null' using errcode = 'ER422';
    elsif submit.max_bytes is null or submit.max_bytes not between 1000 and 16777216 then
        raise exception 'submit: max_bytes: expected 1000 to 16777216, got %', coalesce(submit.max_bytes::text, 'null')
            using errcode = 'ER422';
    elsif submit.max_edge is null or submit.max_edge not between 16 and 16384 then
        raise exception 'submit: max_edge: expected 16 to 16384, got %', coalesce(submit.max_edge::text, 'null')
            using errcode = 'ER422';
    elsif submit.format is null or submit.format not in ('jpeg', 'webp', 'avif') then
        raise exception 'submit: format: expected jpeg, webp or avif, got %', quote_nullable(left(submit.format, 100))
            using errcode = 'ER422';
    end if;
    perform media.check_qualities('submit', submit.qualities);
    if media.is_foreign(submit.source_key, submit.owner) then
        raise exception 'submit: source_key: expected one of the same owner, and of no object that a job makes, got %',
            quote_literal(submit.source_key) using errcode = 'ER409';
    end if;
    wanted := media.check_variants('submit: variants', submit.variants, submit.max_bytes, submit.format);
    if submit.purpose is not null then
        -- One after the other, until commit: so all older photos are visible when a newer one is stored.
        perform pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'media.photo', submit.purpose, submit.owner), 0));
        select greatest(clock_timestamp(), max(submitted_at) + interval '1 microsecond') into present
        from media.photo
        where photo.owner = submit.owner and photo.purpose = submit.purpose;
    end if;
    insert into media.photo (
        source_key, owner, idempotency_key, keep_original, max_bytes, max_edge, format, variants, qualities, purpose,
        submitted_at)
    values (
        submit.source_key, submit.owner, submit.idempotency_key, submit.keep_original, submit.max_bytes,
        submit.max_edge, submit.format, wanted, submit.qualities, submit.purpose, present)
    on conflict on constraint photo_idempotency_key do nothing
    returning id into made;
    if made is null then
        select * into strict existing from media.photo where photo.idempotency_key = submit.idempotency_key;
        if (
            existing.source_key, existing.owner, existing.keep_original, existing.max_bytes, existing.max_edge,
            existing.format,
            existing.variants, existing.qualities, existing.purpose
        ) is distinct from (
            submit.source_key, submit.owner, submit.keep_original, submit.max_bytes, submit.max_edge, submit.format,
            wanted, submit.qualities, submit.purpose
        ) then
            raise exception 'submit: idempotency_key: expected one that no other submission has, got %',
                quote_literal(submit.idempotency_key) using errcode = 'ER409';
        end if;
        return existing.id;
    end if;
    perform media.lock_original(submit.source_key, made);
    -- If it is the result of a photo, a newer photo of that one's purpose waits, and then doesn't remove it.
    perform
    from media.upload
    where id = any (
        array(select id from media.upload where key = submit.source_key collate "C" and photo is not null)
        || array(
            select upload.id
            from media.variant
            join media.upload on upload.photo = variant.photo
            where variant.key = submit.source_key collate "default"))
    for share;
    perform media.check_not_removed('submit: source_key', submit.source_key);
    perform media.enqueue_compression(made);
    return made;
end
$$;
