-- enqueue_compression: enqueues the job that compresses a photo, and records it with the photo. Returns the job's id,
-- or that of the photo's unfinished job.
create or replace function media.enqueue_compression(photo uuid) returns bigint
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
declare
    enqueued bigint;
begin
    select job_id into enqueued
    from errand.enqueue(
        'image_compression', jsonb_build_object('photo', enqueue_compression.photo), queue => 'images',
        max_attempts => 4, unique_key => 'image_compression/' || enqueue_compression.photo,
        subject => (select owner from media.photo as existing where existing.id = enqueue_compression.photo));
    update media.photo as existing set job_id = enqueued where existing.id = enqueue_compression.photo;
    return enqueued;
end
$$;
