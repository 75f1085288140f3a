-- add_photo: adds a photo to an event, and enqueues its compression. The original is in the object store.
--
--   select status, photo, photos_left from events.add_photo('6c1d…', 'user-18', 'events/6c1d…/4711.heic');
--
-- status is one of
--   added           photo is its id; media.photo_status shows its state
--   already_added   this user has added this key before: photo is that photo, and nothing is counted
--   none_left       the user has as many photos as a participant may have; failed photos don't count
--   full            the event has as many photos as it may have
--   not_started, ended, not_joined, no_event
-- photos_left is the number that the user may still add. Both limits hold for any number of sessions, at every
-- isolation level: additions to one event run one after the other, each until its transaction ends.
--
-- The result is made as the event's options say: see events.create. variants are smaller results, such as a thumbnail,
-- as media.submit takes them. photos_of has the key of the result; the key of a variant has its name before the ending.
--
-- Above READ COMMITTED, raises 40001 if the event has changed since the transaction's snapshot: retry the transaction.
-- Raises ER422 without a user, for variants that media.submit refuses, and for a key that is not below events/, the
-- event's id and a slash; ER409 for a key of another user or one that is about to be removed.
-- errand: for enqueuer, ops
create or replace function events.add_photo(event_id uuid, user_id text, source_key text, variants jsonb default '[]')
returns table (status text, photo uuid, photos_left int)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    its_event events.event;
    existing events.photo;
    own int;
    in_all int;
begin
    perform errand_internal.check_user('add_photo', $2);
    perform media.check_key('add_photo: source_key', $3);
    if not starts_with($3, 'events/' || $1 || '/') then
        raise exception 'add_photo: source_key: expected one below events/%/, got %', $1, quote_literal(left($3, 100))
            using errcode = 'ER422';
    end if;
    select * into its_event from events.event where id = $1 for no key update;
    if not found then
        return query select 'no_event', null::uuid, 0;
        return;
    end if;
    select count(*), count(*) filter (where user_id = $2) into in_all, own
    from events.photo
    join media.photo as submitted on submitted.id = photo and submitted.state <> 'failed'
    where event_id = $1;
    select * into existing from events.photo where source_key = $3;
    -- The original of a photo that was added may be about to be removed, because its result is stored.
    if existing.user_id <> $2 or existing.photo is null and exists (select from media.removal where key = $3) then
        raise exception 'add_photo: source_key: expected one that nobody has used, got %', quote_literal(left($3, 100))
            using errcode = 'ER409', hint = 'Make the key unique, for example by a UUID.';
    end if;
    status := case
        when existing.photo is not null then 'already_added'
        when not exists (select from events.participant where event_id = $1 and user_id = $2) then 'not_joined'
        when clock_timestamp() < its_event.starts_at then 'not_started'
        when clock_timestamp() >= its_event.ends_at then 'ended'
        when own >= its_event.photos_each then 'none_left'
        when in_all >= its_event.photos_in_all then 'full'
        else 'added'
    end;
    photo := existing.photo;
    if status = 'added' then
        photo := media.submit(
            $3, $2, keep_original => its_event.keep_original, max_edge => its_event.max_edge, variants => $4,
            qualities => its_event.qualities);
        insert into events.photo (photo, event_id, user_id, source_key) values (add_photo.photo, $1, $2, $3);
        -- A transaction with an older snapshot does not see the photo. Because of this update it can't lock the event.
        update events.event set changes = changes + 1 where id = $1;
        own := own + 1;
        in_all := in_all + 1;
    end if;
    photos_left := greatest(0, least(its_event.photos_each - own, its_event.photos_in_all - in_all));
    return next;
end
$$;
