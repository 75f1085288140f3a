-- original_arrived: has photos compressed again that failed because nobody had handed their original over, which has
-- arrived by now.
create or replace function media.original_arrived(key text) returns void
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
begin
    -- A compression that is just failing holds its photo's lock: it is waited for, and seen.
    perform from media.photo where source_key = original_arrived.key order by id for update;
    perform media.retry_photo(photo.id, 'its original has arrived')
    from media.photo
    where source_key = original_arrived.key and state = 'failed' and error like 'storage: not found:%';
end
$$;
comment on function media.original_arrived(text) is
    'Has photos compressed again that failed because their original was not there';
