-- tell_stored: trigger function that tells the room of an event when the store has a photo of it.
-- errand: after tell
create or replace function events.tell_stored() returns trigger
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
begin
    perform events.tell(known.event_id, 'photo_stored', known.photo)
    from events.photo as known
    where known.photo = new.photo;
    return null;
end
$$;
comment on function events.tell_stored() is 'Trigger: tells the room of an event when the store has a photo of it';

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (
        select from pg_trigger where tgrelid = 'media.upload'::regclass and tgname = 'event_photo_stored'
    ) then
        create trigger event_photo_stored
        after update of delivered_at on media.upload
        for each row when (old.delivered_at is null and new.delivered_at is not null and new.photo is not null)
        execute function events.tell_stored();
        comment on trigger event_photo_stored on media.upload is
            'Tells the room of an event when the store has a photo of it';
    end if;
end
$do$;
