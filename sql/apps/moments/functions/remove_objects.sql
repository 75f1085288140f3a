-- remove_objects: removes up to 1,000 moments with their photos. Returns how many moments and objects are left; with
-- reason null, how many moments there are. For errand migrate --drop-app.
create or replace function moments.remove_objects(reason text) returns bigint
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
begin
    if reason is not null then
        perform media.remove_photos(array(select id from moments.moment order by id limit 1000), reason);
        perform media.enqueue_removals_v1();
    end if;
    return (select count(*) from moments.moment)
        + case when reason is null then 0 else (select count(*) from media.removal) end;
end
$$;
