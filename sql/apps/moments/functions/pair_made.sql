-- pair_made: trigger function that confirms a new pair to both users: a push to each device, with the other one's
-- display name.
create or replace function moments.pair_made() returns trigger
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
declare
    receiver text;
    other text;
begin
    foreach receiver in array array[new.inviter, new.invitee] loop
        other := case receiver when new.inviter then new.invitee else new.inviter end;
        perform notify.send(
            receiver, profile => 'paired', words => jsonb_build_object('name', people.name_of(other)),
            data => jsonb_build_object('event', 'paired', 'pair_id', new.id), collapse => 'pair/' || new.id,
            once => 'paired/' || new.id || '/' || case receiver when new.inviter then 1 else 2 end);
    end loop;
    return null;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (select from pg_trigger where tgrelid = 'pairing.pair'::regclass and tgname = 'pair_made') then
        create trigger pair_made
        after insert on pairing.pair
        for each row execute function moments.pair_made();
        comment on trigger pair_made on pairing.pair is 'Confirms a new pair to both users by a push';
    end if;
end
$do$;
