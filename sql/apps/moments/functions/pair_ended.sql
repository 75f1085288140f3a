-- pair_ended: removes both users' moments when their pair ends, in the same transaction, and tells their devices to
-- clear theirs: a background push, and the event pair_ended to both rooms. Pushes that would be untrue now are
-- withdrawn: of moments, of a changed name, and that the pair has formed. For pairing.disconnect.
-- errand: after remove_pair
create or replace function moments.pair_ended(pair uuid, inviter text, invitee text) returns void
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
declare
    receiver text;
begin
    perform moments.remove_pair(pair, 'the pair has ended');
    foreach receiver in array array[inviter, invitee] loop
        perform notify.withdraw(receiver, topic || pair) from unnest('{moment/,partner/,pair/}'::text[]) as topic;
        perform notify.send(
            receiver, data => jsonb_build_object('event', 'pair_ended', 'pair_id', pair),
            collapse => 'pair/' || pair,
            once => 'pair_ended/' || pair || '/' || case receiver when inviter then 1 else 2 end);
        perform rooms.emit(rooms.user_room(receiver), 'pair_ended', jsonb_build_object('pair_id', pair));
    end loop;
end
$$;
