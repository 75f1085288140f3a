-- submit: records a photo in the object store, and enqueues its compression. Row and job commit together.
--
--   select media.submit('uploads/2026/4711.heic', owner => 'user-17', idempotency_key => 'upload-4711');
--
-- Returns the photo's id; media.photo_status shows its state. The original may also be an upload of media.submit_upload
-- that is not stored yet. Without an idempotency_key each call creates a photo. With one, the same call returns the
-- same photo for as long as that exists.
--
-- Raises ER422 for an invalid key (keys are parts of letters, digits and . _ - + @, joined by slashes, none of them
-- beginning with a dot), and for an owner or idempotency_key that is not 1 to 200 characters long; ER409 for an
-- idempotency_key of another submission.
create or replace function media.submit(
    source_key text, owner text default null, idempotency_key text default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    made uuid;
    known media.photo;
begin
    perform media.check_key('submit: source_key', submit.source_key);
    perform media.check_owner('submit', submit.owner);
    if length(submit.idempotency_key) not between 1 and 200 then
        raise exception 'submit: idempotency_key: expected 1 to 200 characters or null, got %',
            length(submit.idempotency_key) using errcode = 'ER422';
    end if;
    insert into media.photo (source_key, owner, idempotency_key)
    values (submit.source_key, submit.owner, submit.idempotency_key)
    on conflict on constraint photo_idempotency_key do nothing
    returning id into made;
    if made is null then
        select * into strict known from media.photo where photo.idempotency_key = submit.idempotency_key;
        if (known.source_key, known.owner) is distinct from (submit.source_key, submit.owner) then
            raise exception 'submit: idempotency_key: expected one that no other submission has, got %',
                quote_literal(submit.idempotency_key) using errcode = 'ER409';
        end if;
        return known.id;
    end if;
    perform media.enqueue_compression(made);
    return made;
end
$$;
comment on function media.submit(text, text, text) is
    'Records a photo in the object store and enqueues its compression. Example: select '
    'media.submit(''uploads/4711.heic'')';
