-- delivered_v1: records that the store has an upload, and deletes its bytes here. Photos that failed because they
-- lacked this original are compressed again.
--
-- Returns kept; unwanted if neither the upload nor another record of that key exists any more: then the caller removes
-- the object.
create or replace function media.delivered_v1(upload uuid, key text) returns text
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
begin
    -- Photos before uploads, as in removals.
    perform from media.photo where source_key = delivered_v1.key order by id for update;
    update media.upload as known
    set delivered_at = coalesce(known.delivered_at, clock_timestamp()), bytes = null
    where known.id = delivered_v1.upload;
    if found then
        perform media.original_arrived(delivered_v1.key);
        return 'kept';
    end if;
    return case
        when exists (select from media.upload as known where known.key = delivered_v1.key)
            or exists (select from media.photo where result_key = delivered_v1.key)
        then 'kept' else 'unwanted' end;
end
$$;
comment on function media.delivered_v1(uuid, text) is
    'For the job upload_retry: records that the store has an upload; returns kept or unwanted';
