-- submit: records a photo that lies in the object store, and has it compressed. Row and job commit together.
--
--   select media.submit('uploads/2026/4711.heic', owner => 'user-17');
--
-- Returns the photo's id; media.photo_status says what has become of it. Raises ER422 where the key is not of the form
-- that keys have: parts of letters, digits and . _ - + @, joined by slashes, none of them beginning with a dot.
create or replace function media.submit(source_key text, owner text default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    photo uuid;
begin
    if source_key is null or length(source_key) > 1024
        or source_key !~ '^[A-Za-z0-9_+@-][A-Za-z0-9._+@-]*(/[A-Za-z0-9_+@-][A-Za-z0-9._+@-]*)*$'
    then
        raise exception 'submit: source_key: expected parts of a-z A-Z 0-9 . _ - + @ joined by /, got %',
            quote_nullable(left(source_key, 100)) using errcode = 'ER422';
    end if;
    insert into media.photo (source_key, owner) values (submit.source_key, submit.owner) returning id into photo;
    perform errand.enqueue(
        'image_compression', jsonb_build_object('photo', photo), queue => 'images',
        unique_key => 'image_compression/' || photo);
    return photo;
end
$$;
comment on function media.submit(text, text) is
    'Records a photo in the object store and enqueues its compression. Example: select media.submit(''uploads/4711.heic'')';
