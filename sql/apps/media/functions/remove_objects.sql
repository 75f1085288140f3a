-- remove_objects: lists the objects of up to 1,000 photos and 1,000 other uploads for removal from the store. Returns
-- how many photos, uploads and objects are left; with reason null, how many photos and uploads there are. For errand
-- migrate --drop-app.
-- errand: after remove_photos
create or replace function media.remove_objects(reason text) returns bigint
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
declare
    others uuid[];
begin
    if reason is not null then
        perform media.remove_photos(array(select id from media.photo order by id limit 1000), reason);
        others := array(select id from media.upload where photo is null order by id limit 1000);
        perform errand.cancel(array(
            select job.id
            from errand.job
            join media.upload on upload.job_id = job.id
            where upload.id = any (others)), reason);
        insert into media.removal (in_flight, key)
        select true, key from media.upload where id = any (others)
        on conflict on constraint removal_key do nothing;
        delete from media.upload where id = any (others);
        perform media.enqueue_removals_v1();
    end if;
    return (select count(*) from media.photo) + (select count(*) from media.upload where photo is null)
        + case when reason is null then 0 else (select count(*) from media.removal) end;
end
$$;
