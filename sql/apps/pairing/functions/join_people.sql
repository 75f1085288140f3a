-- join_people: creates a pair of two users whose rows are locked, marks the invite as used, and withdraws their other
-- invites. Calls pair_made(pair, inviter, invitee) of each app that has it.
create or replace function pairing.join_people(invite bigint, inviter text, invitee text) returns uuid
language plpgsql set search_path = pg_catalog, pairing, pg_temp as $$
#variable_conflict use_column
declare
    pair uuid;
    app text;
begin
    update pairing.invite as existing
    set state = 'used', redeemed_by = join_people.invitee, ended_at = clock_timestamp()
    where existing.id = join_people.invite and state = 'live';
    if not found then
        raise exception 'join_people: invite % is not live', join_people.invite using errcode = 'ER409';
    end if;
    insert into pairing.pair (paired_at, invite_id, inviter, invitee)
    values (clock_timestamp(), join_people.invite, join_people.inviter, join_people.invitee)
    returning id into pair;
    for app in select name from errand_internal.apps_with('pair_made(uuid,text,text)') as name loop
        execute format('select %I.pair_made($1, $2, $3)', app) using pair, join_people.inviter, join_people.invitee;
    end loop;
    update pairing.person
    set pair_id = pair
    where user_id in (join_people.inviter, join_people.invitee);
    update pairing.invite as existing
    set state = 'withdrawn', ended_at = clock_timestamp()
    where existing.inviter in (join_people.inviter, join_people.invitee) and state = 'live'
        and expires_at > clock_timestamp();
    return pair;
end
$$;
