-- restage: stores bytes until the store has them, under the upload that their key has, in place of the bytes before,
-- and enqueues the job that delivers them. replaces: an existing object is replaced. The caller has locked the photos
-- with that original, and the upload.
--
-- The job of the bytes before is cancelled. An attempt of it may go on for up to 60 s, and store these last. So the new
-- bytes are stored at once and, if such an attempt is possible, once more 90 s from now; they stay here until then.
--
-- Photos that are compressed keep the result that they have: what is under the key is no longer their original.
create or replace function media.restage(upload uuid, type text, bytes bytea, replaces boolean) returns void
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
declare
    existing media.upload;
    before text;
begin
    select * into strict existing from media.upload where id = restage.upload;
    before := errand_internal.state_of(existing.job_id);
    if before = 'failed' then
        perform errand.discard(array[existing.job_id], 'its bytes were replaced');
    elsif before in ('available', 'scheduled', 'parked', 'running') then
        perform errand.cancel(array[existing.job_id], 'its bytes were replaced');
    end if;
    update media.upload
    set bytes = restage.bytes, sha256 = sha256(restage.bytes), size = length(restage.bytes), type = restage.type,
        replaces = restage.replaces, revision = existing.revision + 1, staged_at = now(), delivered_at = null,
        removed_at = null, job_id = media.enqueue_upload(id, owner),
        confirm_at = case
            when existing.delivered_at is null or existing.confirm_at is not null
                or existing.delivered_at > clock_timestamp() - interval '90 seconds'
            then clock_timestamp() + interval '90 seconds'
        end
    where id = restage.upload;
    -- With the collation of photo.source_key: in another one, its index is of no use.
    update media.photo
    set original_removed_at = coalesce(original_removed_at, clock_timestamp())
    where source_key = existing.key collate "default" and state = 'compressed';
    perform media.original_arrived(existing.key collate "default");
end
$$;
