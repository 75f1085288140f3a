-- add_photo: adds a photo whose original lies in the object store to an event, and has it compressed and stored.
--
--   select status, photo, photos_left from events.add_photo('6c1d…', 'user-18', 'events/6c1d…/4711.heic');
--
-- status is one of
--   added           photo is its id; media.photo_status says what becomes of it
--   already_added   by this user, under this key, before: photo is the one that there is, and nothing was counted
--   none_left       the user has as many as a participant may have; photos that failed don't count
--   full            the event has as many as it may have
--   not_started, ended, not_joined, no_event
-- photos_left says how many the user may add after that. Both limits hold however many sessions add at once, at every
-- isolation level: adds to one event go one after the other, each until its transaction ends. Above READ COMMITTED,
-- raises 40001 where the event has changed since the transaction's snapshot: retry the transaction. Raises ER422
-- without a user and for a key that does not lie below events/, the event's id and a slash; ER409 for a key that is
-- another one's or about to be removed.
create or replace function events.add_photo(event_id uuid, user_id text, source_key text)
returns table (status text, photo uuid, photos_left int)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    held events.event;
    known events.photo;
    own int;
    in_all int;
begin
    perform events.check_user('add_photo', $2);
    perform media.check_key('add_photo: source_key', $3);
    if not starts_with($3, 'events/' || $1 || '/') then
        raise exception 'add_photo: source_key: expected one below events/%/, got %', $1, quote_literal(left($3, 100))
            using errcode = 'ER422';
    end if;
    select * into held from events.event where id = $1 for no key update;
    if not found then
        return query select 'no_event', null::uuid, 0;
        return;
    end if;
    select count(*), count(*) filter (where user_id = $2) into in_all, own
    from events.photo
    join media.photo as submitted on submitted.id = photo and submitted.state <> 'failed'
    where event_id = $1;
    select * into known from events.photo where source_key = $3;
    if known.user_id <> $2 or exists (select from media.removal where key = $3) then
        raise exception 'add_photo: source_key: expected one that nobody has used, got %', quote_literal(left($3, 100))
            using errcode = 'ER409', hint = 'Make part of the key unlike any other, such as by a UUID.';
    end if;
    status := case
        when known.photo is not null then 'already_added'
        when not exists (select from events.participant where event_id = $1 and user_id = $2) then 'not_joined'
        when clock_timestamp() < held.starts_at then 'not_started'
        when clock_timestamp() >= held.ends_at then 'ended'
        when own >= held.photos_each then 'none_left'
        when in_all >= held.photos_in_all then 'full'
        else 'added'
    end;
    photo := known.photo;
    if status = 'added' then
        photo := media.submit($3, $2);
        insert into events.photo (photo, event_id, user_id, source_key) values (add_photo.photo, $1, $2, $3);
        -- A transaction with an older snapshot does not see the photo. Because of this update it can't lock the event.
        update events.event set changes = changes + 1 where id = $1;
        own := own + 1;
        in_all := in_all + 1;
    end if;
    photos_left := greatest(0, least(held.photos_each - own, held.photos_in_all - in_all));
    return next;
end
$$;
comment on function events.add_photo(uuid, text, text) is
    'Adds a photo to an event, within its limits; status says what became of it. '
    'Example: select status, photo from events.add_photo(''6c1d…'', ''user-18'', ''events/6c1d…/4711.heic'')';
