-- object_stored: tells the room of an event when the store has a photo or a QR code of it. For media.delivered_v1.
-- errand: after tell
create or replace function events.object_stored(key text, photo uuid) returns void
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
begin
    if object_stored.photo is null then
        perform events.tell(existing.event_id, 'code_stored', code => existing.id)
        from events.code as existing
        where existing.key = object_stored.key collate "default";
    else
        perform events.tell(existing.event_id, 'photo_stored', existing.photo)
        from events.photo as existing
        where existing.photo = object_stored.photo;
    end if;
end
$$;
