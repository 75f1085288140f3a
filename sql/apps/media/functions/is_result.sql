-- is_result: returns whether a key is that of a photo's result or variant.
create or replace function media.is_result(key text) returns boolean
language sql stable set search_path = pg_catalog, media, pg_temp as $$
    -- With the collation of upload.key: in another one, its index is of no use.
    select exists (select from media.upload where upload.key = is_result.key collate "C" and photo is not null)
        or exists (select from media.variant where variant.key = is_result.key collate "default")
$$;
