-- submit: records a photo that lies in the object store, and has it compressed and stored. Row and job commit together.
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
    perform media.check_key('submit: source_key', submit.source_key);
    insert into media.photo (source_key, owner) values (submit.source_key, submit.owner) returning id into photo;
    perform errand.enqueue(
        'image_compression', jsonb_build_object('photo', photo), queue => 'images',
        unique_key => 'image_compression/' || photo);
    return photo;
end
$$;
comment on function media.submit(text, text) is
    'Records a photo in the object store and enqueues its compression. Example: select media.submit(''uploads/4711.heic'')';
