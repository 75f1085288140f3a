-- pair_ended: trigger function that removes both users' moments when their pair ends, in the same transaction, and
-- tells their devices to clear theirs: a background push, and the event pair_ended to both rooms. Pushes that would be
-- untrue now are withdrawn: of moments, of a changed name, and that the pair has formed.
-- errand: after remove_pair
create or replace function moments.pair_ended() returns trigger
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
declare
    receiver text;
begin
    perform moments.remove_pair(new.id, 'the pair has ended');
    foreach receiver in array array[new.inviter, new.invitee] loop
        perform notify.withdraw(receiver, topic || new.id) from unnest('{moment/,partner/,pair/}'::text[]) as topic;
        perform notify.send(
            receiver, data => jsonb_build_object('event', 'pair_ended', 'pair_id', new.id),
            collapse => 'pair/' || new.id,
            once => 'pair_ended/' || new.id || '/' || case receiver when new.inviter then 1 else 2 end);
        perform rooms.emit(rooms.user_room(receiver), 'pair_ended', jsonb_build_object('pair_id', new.id));
    end loop;
    return null;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (select from pg_trigger where tgrelid = 'pairing.pair'::regclass and tgname = 'pair_ended') then
        create trigger pair_ended
        after update of ended_at on pairing.pair
        for each row when (old.ended_at is null and new.ended_at is not null)
        execute function moments.pair_ended();
        comment on trigger pair_ended on pairing.pair is 'Removes both users'' moments when their pair ends';
    end if;
end
$do$;
