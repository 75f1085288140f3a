-- enqueue_upload: enqueues the job that stores an upload: one attempt and three automatic ones. Returns the job's id,
-- or that of the upload's unfinished job.
create or replace function media.enqueue_upload(upload uuid, owner text) returns bigint
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
begin
    return (
        select job_id
        from errand.enqueue(
            'upload_retry', jsonb_build_object('upload', enqueue_upload.upload), queue => 'uploads', max_attempts => 4,
            unique_key => 'upload_retry/' || enqueue_upload.upload, subject => enqueue_upload.owner));
end
$$;
