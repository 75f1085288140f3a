-- tell_removed: trigger function that tells the room of an event when a photo is deleted or a participant leaves. It
-- runs at commit: an event that was deleted in the same transaction is gone then, and its room is told by the deletion.
-- errand: after tell
create or replace function events.tell_removed() returns trigger
-- At commit it would have the rights of the login.
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
begin
    if exists (select from events.event where id = old.event_id) then
        perform events.tell(old.event_id, tg_argv[0], (to_jsonb(old) ->> 'photo')::uuid);
    end if;
    return null;
end
$$;

-- Only if they are missing, because their creation locks the tables.
do $do$
begin
    if not exists (
        select from pg_trigger where tgrelid = 'events.photo'::regclass and tgname = 'photo_removed'
    ) then
        create constraint trigger photo_removed
        after delete on events.photo
        deferrable initially deferred
        for each row execute function events.tell_removed('photo_deleted');
        comment on trigger photo_removed on events.photo is 'Tells the room of an event when a photo is deleted';
    end if;
    if not exists (
        select from pg_trigger where tgrelid = 'events.participant'::regclass and tgname = 'participant_left'
    ) then
        create constraint trigger participant_left
        after delete on events.participant
        deferrable initially deferred
        for each row execute function events.tell_removed('left');
        comment on trigger participant_left on events.participant is
            'Tells the room of an event when a participant leaves';
    end if;
end
$do$;
