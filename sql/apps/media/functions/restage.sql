-- restage: stores the bytes of an object again until the store has them, under the upload that its key has, and
-- enqueues the job that delivers them. The caller has locked the photos with that original, and the upload.
create or replace function media.restage(upload uuid, bytes bytea) returns void
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
declare
    known media.upload;
begin
    update media.upload
    set bytes = restage.bytes, staged_at = now(), delivered_at = null, removed_at = null,
        job_id = media.enqueue_upload(id)
    where id = restage.upload
    returning * into strict known;
    -- With the collation of photo.source_key: in another one, its index is of no use.
    perform media.original_arrived(known.key collate "default");
end
$$;
comment on function media.restage(uuid, bytea) is
    'Stores the bytes of an object again until the store has them, and enqueues the job that delivers them';
