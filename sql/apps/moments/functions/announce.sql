-- announce: tells the receiver of a moment: a push to each device, and the event new_moment to the user's room. Both
-- have ids only; the title of the push is the sender's display name, and it wakes the app for its widget. A push of the
-- moment before that waits is withdrawn.
create or replace function moments.announce(pair uuid, moment uuid, sender text) returns void
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
declare
    ids constant jsonb := jsonb_build_object('event', 'new_moment', 'moment_id', moment, 'pair_id', pair);
    receiver constant text := (
        select case existing.inviter when announce.sender then existing.invitee else existing.inviter end
        from pairing.pair as existing
        where existing.id = announce.pair);
begin
    perform notify.withdraw(receiver, 'moment/' || pair);
    perform notify.send(
        receiver, profile => 'new_moment', words => jsonb_build_object('name', people.name_of(announce.sender)),
        data => ids, collapse => 'moment/' || pair, once => 'moment/' || moment);
    perform rooms.emit(rooms.user_room(receiver), 'new_moment', ids - 'event');
end
$$;
