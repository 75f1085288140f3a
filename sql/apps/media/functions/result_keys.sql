-- result_keys: returns the keys of all objects that were made of photos: their results and variants. in_flight says
-- whether an upload of it may be running.
create or replace function media.result_keys(photos uuid[]) returns table (key text, in_flight boolean)
language sql stable set search_path = pg_catalog, media, pg_temp as $$
    select
        object.key,
        upload.id is not null and (upload.delivered_at is null or upload.confirm_at is not null)
    from media.photo
    left join media.upload on upload.photo = photo.id
    cross join lateral (
        select photo.result_key
        union all
        select variant.key from media.variant where variant.photo = photo.id
    ) as object (key)
    where photo.id = any (result_keys.photos) and object.key is not null
$$;
