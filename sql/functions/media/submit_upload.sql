-- submit_upload: takes an object over from an app, such as one whose own upload has failed, and has it stored. Its bytes and
-- the job commit together; they are kept until the store has them.
--
--   select media.submit_upload('avatars/user-17.jpg', '\xffd8…', owner => 'user-17');
--
-- The first try counts from here: what the app has tried before does not. An object that the key has already is never
-- replaced: the same bytes are success, others a failure. Returns the upload's id; media.upload_status says what has
-- become of it. Raises ER422 for a key or type that is none, ER413 for more than 16 MB, ER409 for a key that was handed
-- over before.
create or replace function media.submit_upload(
    key text, bytes bytea, type text default 'image/jpeg', owner text default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
begin
    perform media.check_key('submit_upload: key', submit_upload.key);
    if submit_upload.type is null or submit_upload.type !~ '^[a-z]+/[A-Za-z0-9.+-]{1,80}$' then
        raise exception 'submit_upload: type: expected one such as image/jpeg, got %',
            quote_nullable(left(submit_upload.type, 100)) using errcode = 'ER422';
    elsif submit_upload.bytes is null or length(submit_upload.bytes) = 0 then
        raise exception 'submit_upload: bytes: expected some, got none' using errcode = 'ER422';
    elsif length(submit_upload.bytes) > 16 << 20 then
        raise exception 'submit_upload: bytes: expected at most 16 MB, got %', length(submit_upload.bytes)
            using errcode = 'ER413';
    end if;
    return media.stage(null, submit_upload.key, submit_upload.type, submit_upload.owner, submit_upload.bytes);
exception
    when unique_violation then
        raise exception 'submit_upload: key: expected one that was not handed over before, got %',
            quote_literal(submit_upload.key)
            using errcode = 'ER409', hint = 'media.upload_status says what became of that one.';
end
$$;
comment on function media.submit_upload(text, bytea, text, text) is
    'Takes an object over and has it stored. Example: select media.submit_upload(''avatars/17.jpg'', ''\xffd8'')';
