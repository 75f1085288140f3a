-- remove_objects: purges up to 100 events, as events.purge_event does, and so lists their objects for removal from the
-- store. Returns how many events and objects are left; with reason null, how many photos, archives and codes there are.
-- For errand migrate --drop-app.
-- errand: after purge_event
create or replace function events.remove_objects(reason text) returns bigint
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
declare
    existing uuid;
begin
    if reason is null then
        return (select count(*) from events.photo) + (select count(*) from events.archive)
            + (select count(*) from events.code_status);
    end if;
    for existing in select id from events.event order by id limit 100 for update loop
        perform events.purge_event(existing, 'event_purge', reason);
    end loop;
    perform media.enqueue_removals_v1();
    return (select count(*) from events.event) + (select count(*) from media.removal);
end
$$;
