-- retry_photo: compresses a failed photo again, with all attempts, for as long as the photo exists.
--
--   select media.retry_photo('6c1d…', reason => 'the original is there now');
--   select media.retry_photo(id) from media.photo_status where state = 'failed';
--
-- A job that waits for its next attempt becomes due now. An available, parked or running one stays as it is. Works also
-- if the failed job is no longer on record. The original of a photo without a result is never removed, so that this
-- succeeds however late. Returns the job's id. Raises ER404 for an unknown photo, ER409 for one that has its result:
-- the hint says if its original is gone.
-- errand: for enqueuer, ops
create or replace function media.retry_photo(id uuid, reason text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    asked media.photo;
begin
    select * into asked from media.photo where photo.id = retry_photo.id for update;
    if not found then
        raise exception 'retry_photo: expected the id of a photo, got %', retry_photo.id using errcode = 'ER404';
    elsif asked.state = 'compressed' then
        raise exception 'retry_photo: photo %: expected one without a result, got one that was compressed at %',
            asked.id, asked.compressed_at
            using errcode = 'ER409', hint = case
                when asked.original_removed_at is null then 'Submit its original again.'
                else 'Its original is gone since ' || asked.original_removed_at || '. Submit another one.'
            end;
    end if;
    case coalesce(errand_internal.state_of(asked.job_id), 'gone')
        when 'failed', 'cancelled', 'scheduled' then
            perform errand.retry(array[asked.job_id], reason => retry_photo.reason);
        when 'available', 'parked' then
            null;
        when 'running' then
            -- The running job records the state itself.
            return asked.job_id;
        else
            asked.job_id := media.enqueue_compression(asked.id);
    end case;
    update media.photo set state = 'submitted', error = null, timeouts = 0 where photo.id = asked.id;
    return asked.job_id;
end
$$;
