-- retry_upload: retries a failed upload with all attempts: one and three automatic ones.
--
--   select media.retry_upload('6c1d…', reason => 'the bucket is back');
--   select media.retry_upload(id) from media.upload_status where state = 'failed';
--
-- The id is that of the upload or of its photo. A job that waits for its next attempt becomes due now. An available,
-- parked or running one stays as it is. Works also if the failed job is no longer on record. Returns the job's id.
-- Raises ER404 for an unknown upload, ER409 if the store has it or its bytes are gone.
-- errand: for enqueuer, ops
create or replace function media.retry_upload(id uuid, reason text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    asked media.upload;
begin
    select * into asked
    from media.upload
    where upload.id = retry_upload.id or upload.photo = retry_upload.id
    for update;
    if not found then
        raise exception 'retry_upload: expected the id of an upload or of its photo, got %', retry_upload.id
            using errcode = 'ER404';
    elsif asked.delivered_at is not null and asked.confirm_at is null then
        raise exception 'retry_upload: upload %: expected one that was not stored, got one that was at %', asked.id,
            asked.delivered_at using errcode = 'ER409';
    elsif asked.bytes is null then
        raise exception 'retry_upload: upload %: its bytes are gone', asked.id using errcode = 'ER409';
    end if;
    case coalesce(errand_internal.state_of(asked.job_id), 'gone')
        when 'failed', 'cancelled', 'scheduled' then
            perform errand.retry(array[asked.job_id], reason => retry_upload.reason);
        when 'available', 'parked', 'running' then
            null;
        else
            asked.job_id := media.enqueue_upload(asked.id, asked.owner);
            update media.upload set job_id = asked.job_id where upload.id = asked.id;
    end case;
    return asked.job_id;
end
$$;
