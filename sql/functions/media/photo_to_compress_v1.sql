-- photo_to_compress_v1: what the job needs to know of a photo. No row where there is no such photo.
create or replace function media.photo_to_compress_v1(photo uuid) returns table (source_key text, state text)
language sql stable security definer set search_path = pg_catalog, media, pg_temp as $$
    select source_key, state from media.photo where id = photo_to_compress_v1.photo
$$;
comment on function media.photo_to_compress_v1(uuid) is 'For the job image_compression: where the original lies';
