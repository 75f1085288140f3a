-- variant_key: returns the key of a photo's variant: that of the photo's result, with the variant's name before the
-- ending of its format.
--
--   select media.variant_key('photos/6c1d….jpg', 'thumb', 'webp');  -- photos/6c1d….thumb.webp
create or replace function media.variant_key(result_key text, name text, format text) returns text
language sql immutable set search_path = pg_catalog, media, pg_temp as $$
    select regexp_replace(result_key, '[.][^./]*$', '') || '.' || name || '.'
        || case format when 'jpeg' then 'jpg' else format end
$$;
