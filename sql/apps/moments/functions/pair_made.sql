-- pair_made: confirms a new pair to both users: a push to each device, with the other one's display name. For
-- pairing.join_people.
create or replace function moments.pair_made(pair uuid, inviter text, invitee text) returns void
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
declare
    receiver text;
    other text;
begin
    foreach receiver in array array[inviter, invitee] loop
        other := case receiver when inviter then invitee else inviter end;
        perform notify.send(
            receiver, profile => 'paired', words => jsonb_build_object('name', people.name_of(other)),
            data => jsonb_build_object('event', 'paired', 'pair_id', pair), collapse => 'pair/' || pair,
            once => 'paired/' || pair || '/' || case receiver when inviter then 1 else 2 end);
    end loop;
end
$$;
