-- original_arrived: compresses photos again that failed because their original was missing and has arrived now.
create or replace function media.original_arrived(key text) returns void
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
begin
    -- A compression that is just failing has locked its photo: this call waits for it and sees the result.
    perform from media.photo where source_key = original_arrived.key order by id for update;
    perform media.retry_photo(photo.id, 'its original has arrived')
    from media.photo
    where source_key = original_arrived.key and state = 'failed' and error like 'storage: not found:%';
end
$$;
