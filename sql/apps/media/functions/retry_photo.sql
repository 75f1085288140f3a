-- retry_photo: has a photo that failed compressed again, with all attempts to spend, for as long as the photo exists.
--
--   select media.retry_photo('6c1d…', reason => 'the original is there now');
--   select media.retry_photo(id) from media.photo_status where state = 'failed';
--
-- A job that waits for its next attempt is brought forward; one that is in line, parked or running stays as it is.
-- Works as well where the failed job is no longer on record. Returns the job's id. Raises ER404 where there is no such
-- photo, ER409 where it has its result.
create or replace function media.retry_photo(id uuid, reason text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    asked media.photo;
begin
    select * into asked from media.photo where photo.id = retry_photo.id for update;
    if not found then
        raise exception 'retry_photo: expected the id of a photo, got %', retry_photo.id using errcode = 'ER404';
    elsif asked.state = 'compressed' then
        raise exception 'retry_photo: photo %: expected one without a result, got one that was compressed at %', asked.id,
            asked.compressed_at using errcode = 'ER409';
    end if;
    case coalesce(errand.state_of(asked.job_id), 'gone')
        when 'failed', 'cancelled', 'scheduled' then
            perform errand.retry(array[asked.job_id], reason => retry_photo.reason);
        when 'available', 'parked' then
            null;
        when 'running' then
            -- What it is about to record is its own.
            return asked.job_id;
        else
            asked.job_id := media.enqueue_compression(asked.id);
    end case;
    update media.photo set state = 'submitted', error = null where photo.id = asked.id;
    return asked.job_id;
end
$$;
comment on function media.retry_photo(uuid, text) is
    'Has a failed photo compressed again; returns its job. Example: select media.retry_photo(''6c1d…'')';
