-- variant_to_store_v1: returns one variant of the photo whose result the upload is: the first by name after the given
-- one; no row after the last one, and none if the store has them all by now.
create or replace function media.variant_to_store_v1(upload uuid, after text default '')
returns table (name text, key text, type text, sha256 text, bytes bytea)
language sql stable security definer set search_path = pg_catalog, media, pg_temp as $$
    select existing.name, existing.key, 'image/' || existing.format, encode(existing.sha256, 'hex'), existing.bytes
    from media.upload as stored
    join media.variant as existing on existing.photo = stored.photo
    where stored.id = variant_to_store_v1.upload and stored.delivered_at is null
        and existing.name > variant_to_store_v1.after
    order by existing.name
    limit 1
$$;
