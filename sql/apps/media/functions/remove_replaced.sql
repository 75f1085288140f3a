-- remove_replaced: deletes photos that a newer one of their purpose has replaced, with all their rows, and lists their
-- objects for removal. The newest is the first.
--
-- A photo stays while another photo is made from its result or one of its variants, or keeps that as its original, and
-- while a foreign key refers to it. The next newer photo of its purpose removes it then. The caller has locked the
-- photos, and those of the same originals. Returns the number of deleted photos.
create or replace function media.remove_replaced(photos uuid[]) returns int
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
declare
    replaced uuid;
    removed int := 0;
begin
    -- The submission of a photo that is made from one of their results has locked the upload of that until it commits.
    perform from media.upload where photo = any (remove_replaced.photos) order by id for update;
    foreach replaced in array remove_replaced.photos loop
        continue when exists (
            select
            from media.result_keys(array[replaced]) as result
            join media.photo as other on other.source_key = result.key
            where other.original_removed_at is null and (other.keep_original or other.state <> 'compressed'));
        begin
            removed := removed + (media.remove_photos(array[replaced], 'a newer photo has replaced it')).deleted;
        exception
            when foreign_key_violation then
                null;
        end;
    end loop;
    if removed > 0 then
        perform errand.enqueue('object_removal');
    end if;
    return removed;
end
$$;
