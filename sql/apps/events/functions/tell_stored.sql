-- tell_stored: trigger function that tells the room of an event when the store has a photo or a QR code of it.
-- errand: after tell
create or replace function events.tell_stored() returns trigger
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
begin
    if new.photo is null then
        perform events.tell(existing.event_id, 'code_stored', code => existing.id)
        from events.code as existing
        where existing.key = new.key collate "default";
    else
        perform events.tell(existing.event_id, 'photo_stored', existing.photo)
        from events.photo as existing
        where existing.photo = new.photo;
    end if;
    return null;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (
        select from pg_trigger where tgrelid = 'media.upload'::regclass and tgname = 'event_object_stored'
    ) then
        create trigger event_object_stored
        after update of delivered_at on media.upload
        for each row when (
            old.delivered_at is null and new.delivered_at is not null
            and (new.photo is not null or new.key like 'events/%/codes/%'))
        execute function events.tell_stored();
        comment on trigger event_object_stored on media.upload is
            'Tells the room of an event when the store has a photo or a QR code of it';
    end if;
end
$do$;
