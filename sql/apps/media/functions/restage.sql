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
    known media.upload;
    before text;
begin
    select * into strict known from media.upload where id = restage.upload;
    before := errand_internal.state_of(known.job_id);
    if before = 'failed' then
        perform errand.discard(array[known.job_id], 'its bytes were replaced');
    elsif before in ('available', 'scheduled', 'parked', 'running') then
        perform errand.cancel(array[known.job_id], 'its bytes were replaced');
    end if;
    update media.upload
    set bytes = restage.bytes, sha256 = sha256(restage.bytes), size = length(restage.bytes), type = restage.type,
        replaces = restage.replaces, revision = known.revision + 1, staged_at = now(), delivered_at = null,
        removed_at = null, job_id = media.enqueue_upload(id, owner),
        confirm_at = case
            when known.delivered_at is null or known.confirm_at is not null
                or known.delivered_at > clock_timestamp() - interval '90 seconds'
            then clock_timestamp() + interval '90 seconds'
        end
    where id = restage.upload;
    -- With the collation of photo.source_key: in another one, its index is of no use.
    update media.photo
    set original_removed_at = coalesce(original_removed_at, clock_timestamp())
    where source_key = known.key collate "default" and state = 'compressed';
    perform media.original_arrived(known.key collate "default");
end
$$;
