-- create_invite: creates a code that another user can redeem within 24 hours.
--
--   select code, expires_at from pairing.create_invite('user-17');
--
-- The code has six of A-Z and 2-9 without I and O, is random, and differs from all live codes. A user may have several;
-- when one of them is redeemed, the others are withdrawn. Raises ER409 if the user is in a pair, ER422 without a user;
-- above READ COMMITTED, 40001 if another transaction has changed the user's rows since this one's snapshot.
-- errand: for enqueuer, ops
create or replace function pairing.create_invite(user_id text) returns table (code text, expires_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pairing, pg_temp as $$
#variable_conflict use_column
declare
    -- Not now(): a long transaction may have begun much earlier.
    made constant timestamptz := clock_timestamp();
begin
    perform pairing.lock_people('create_invite', create_invite.user_id);
    if (select pair_id from pairing.person where person.user_id = create_invite.user_id) is not null then
        raise exception 'create_invite: the user is in a pair'
            using errcode = 'ER409', hint = 'select * from pairing.disconnect(user_id) ends it.';
    end if;
    for attempt in 1..100 loop
        return query
        insert into pairing.invite as new (created_at, expires_at, code, inviter)
        values (made, made + interval '24 hours', pairing.new_code(), create_invite.user_id)
        on conflict (code) where state = 'live' do nothing
        returning new.code, new.expires_at;
        if found then
            update pairing.person
            set invites_made = invites_made + 1
            where person.user_id = create_invite.user_id;
            return;
        end if;
    end loop;
    raise exception 'create_invite: no free code was found in 100 draws' using errcode = 'ER503';
end
$$;
