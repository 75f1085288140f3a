-- retry_upload: tries a failed upload again, with all of its attempts to spend: one, and three more by themselves.
--
--   select media.retry_upload('6c1d…', reason => 'the bucket is back');
--   select media.retry_upload(id) from media.upload_status where state = 'failed';
--
-- The id is that of the upload or of its photo. One that waits for its next attempt is brought forward; one that is in line,
-- parked or running stays as it is. Works as well where the failed job is no longer on record. Returns the job's id.
-- Raises ER404 where there is no such upload, ER409 where the store has it or its bytes are gone.
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
    elsif asked.delivered_at is not null then
        raise exception 'retry_upload: upload %: expected one that was not stored, got one that was at %', asked.id,
            asked.delivered_at using errcode = 'ER409';
    elsif asked.bytes is null then
        raise exception 'retry_upload: upload %: its bytes are gone', asked.id using errcode = 'ER409';
    end if;
    case coalesce(errand.state_of(asked.job_id), 'gone')
        when 'failed', 'cancelled', 'scheduled' then
            perform errand.retry(array[asked.job_id], reason => retry_upload.reason);
        when 'available', 'parked', 'running' then
            null;
        else
            asked.job_id := media.enqueue_upload(asked.id);
            update media.upload set job_id = asked.job_id where upload.id = asked.id;
    end case;
    return asked.job_id;
end
$$;
comment on function media.retry_upload(uuid, text) is
    'Tries a failed upload again with a fresh budget; answers its job. Example: select media.retry_upload(''6c1d…'')';
