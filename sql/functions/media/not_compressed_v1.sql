-- not_compressed_v1: records why a photo can't be compressed. A photo that has its result keeps it.
create or replace function media.not_compressed_v1(photo uuid, error text) returns void
language sql security definer set search_path = pg_catalog, media, pg_temp as $$
    update media.photo
    set state = 'failed', error = left(not_compressed_v1.error, 4000)
    where id = not_compressed_v1.photo and state <> 'compressed'
$$;
comment on function media.not_compressed_v1(uuid, text) is 'For the job image_compression: records why there is no result';
