-- stage: stores the bytes of an object until the store has them, and enqueues the job that delivers them. Photos that
-- failed because they lacked this original are compressed again. replaces: an existing object is replaced.
create or replace function media.stage(
    photo uuid, key text, type text, owner text, bytes bytea, replaces boolean default false
) returns uuid
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
declare
    staged uuid := gen_random_uuid();
begin
    insert into media.upload (id, photo, size, key, type, owner, sha256, bytes, replaces, job_id)
    values (
        staged, stage.photo, length(stage.bytes), stage.key, stage.type, stage.owner, sha256(stage.bytes), stage.bytes,
        stage.replaces, media.enqueue_upload(staged, stage.owner));
    perform media.original_arrived(stage.key);
    return staged;
end
$$;
