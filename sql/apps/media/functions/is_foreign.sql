-- is_foreign: returns whether a key is that of an object that may not be the original of a photo of this owner: of
-- another owner's object, or one that a job makes.
--
-- The owner of an upload or photo is that of its object, of its original and of its results. An upload without an owner
-- is anybody's; a photo without an owner is nobody else's.
-- errand: after is_generated
create or replace function media.is_foreign(key text, owner text) returns boolean
language sql stable set search_path = pg_catalog, media, pg_temp as $$
    -- Each with the collation of its column: in another one, its index is of no use.
    select media.is_generated(is_foreign.key)
        or exists (
            select from media.upload
            where upload.key = is_foreign.key collate "C" and upload.owner is distinct from is_foreign.owner
                and (upload.owner is not null or upload.photo is not null))
        or exists (
            select from media.variant
            join media.photo on photo.id = variant.photo
            where variant.key = is_foreign.key collate "default" and photo.owner is distinct from is_foreign.owner)
        or exists (
            select from media.photo
            where photo.source_key = is_foreign.key collate "default"
                and photo.owner is distinct from is_foreign.owner)
$$;
