-- delivered_v1: records that the store has an upload, and lets its bytes go.
--
-- Answers kept; unwanted where neither the upload nor anything else of that key is on record any more: then the object is
-- nobody's, and the caller removes it.
create or replace function media.delivered_v1(upload uuid, key text) returns text
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
begin
    update media.upload as known
    set delivered_at = coalesce(known.delivered_at, clock_timestamp()), bytes = null
    where known.id = delivered_v1.upload;
    return case
        when found
            or exists (select from media.upload as known where known.key = delivered_v1.key)
            or exists (select from media.photo where result_key = delivered_v1.key)
        then 'kept' else 'unwanted' end;
end
$$;
comment on function media.delivered_v1(uuid, text) is
    'For the job upload_retry: records that the store has it; answers kept or unwanted';
