-- redeem_invite: pairs the user who enters a code with the user who created it, and returns the status of the code.
--
--   select status, pair_id, partner, tries_left, retry_at
--   from pairing.redeem_invite('7KX2QM', 'user-18', source => '203.0.113.7');
--
-- Spaces, hyphens and lower case are accepted. status is one of
--   paired           they are a pair now
--   invalid          there is no such code
--   expired          its 24 hours are over
--   already_used     it was redeemed; if by this user, pair_id and partner are theirs
--   own_code         it is the user's own
--   withdrawn        its creator is in a pair by now
--   already_paired   the user is in a pair: pair_id and partner
--   too_many_tries   too many wrong codes within an hour; no code is checked before retry_at
--
-- An hour has room for ten wrong codes of one user, and for 100 from one source. After 10,000 from all together, a user
-- has one, so that somebody who guesses shuts out nobody who enters the right code. pairing.set_bounds changes both.
-- source is optional, for example the phone's address. tries_left counts the user's own tries. Calls that run at the
-- same time may exceed the bounds of source and all by their number. If several users redeem one code at once, one is
-- paired. A code is dead after 24 hours by the database's clock, whether or not it is marked. A try counts when the
-- transaction commits.
--
-- Raises ER422 without a user, or for a source that is not 1 to 200 characters long. Above READ COMMITTED, raises 40001
-- if another transaction has changed the rows of one of the two, or has counted a wrong code, since this one's
-- snapshot: retry the transaction.
-- errand: for enqueuer, ops
create or replace function pairing.redeem_invite(code text, user_id text, source text default null)
returns table (status text, pair_id uuid, partner text, tries_left int, retry_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pairing, pg_temp as $$
#variable_conflict use_column
declare
    most_tries int := 10;
    window_of_tries constant interval := interval '1 hour';
    wanted constant text := upper(regexp_replace(left(redeem_invite.code, 100), E'[\\s-]', '', 'g') collate "C");
    invite pairing.invite;
    me pairing.person;
    other pairing.person;
    -- The end of an hour with too many wrong codes from all together.
    crowded_until timestamptz;
begin
    if length(redeem_invite.source) not between 1 and 200 then
        raise exception 'redeem_invite: source: expected 1 to 200 characters, got %', length(redeem_invite.source)
            using errcode = 'ER422';
    end if;
    -- The creator first, without a lock. Both users are then locked in order, and everything is read again.
    select * into invite
    from pairing.invite as existing
    where existing.code = wanted
    order by state = 'live' desc, id desc
    limit 1;
    perform pairing.lock_people('redeem_invite', redeem_invite.user_id, invite.inviter);
    select * into me from pairing.person where person.user_id = redeem_invite.user_id;
    if me.wrong_since <= clock_timestamp() - window_of_tries then
        me.wrong_tries := 0;
    end if;
    select
        max(existing.since + window_of_tries) filter (where existing.source <> ''),
        max(existing.since + window_of_tries) filter (where existing.source = '')
    into retry_at, crowded_until
    from pairing.wrong_code as existing
    cross join pairing.setting
    where existing.source in ('', redeem_invite.source) and existing.since > clock_timestamp() - window_of_tries
        and existing.tries >= case existing.source when '' then wrong_in_all else wrong_from_source end;
    if crowded_until is not null and me.wrong_tries < most_tries then
        most_tries := 1;
    else
        crowded_until := null;
    end if;
    if me.wrong_tries >= most_tries then
        retry_at := greatest(retry_at, least(me.wrong_since + window_of_tries, crowded_until));
    end if;
    if retry_at is not null then
        return query
        select 'too_many_tries', null::uuid, null::text, greatest(0, most_tries - me.wrong_tries), retry_at;
        return;
    end if;
    if invite.id is not null then
        -- The job may be marking it, which takes milliseconds.
        select * into invite from pairing.invite as existing where existing.id = invite.id for update;
        select * into other from pairing.person where person.user_id = invite.inviter;
    end if;
    status := case
        when invite.id is null then 'invalid'
        when invite.state = 'used' then 'already_used'
        when me.pair_id = other.pair_id then 'already_paired'
        when invite.state = 'expired' or clock_timestamp() >= invite.expires_at then 'expired'
        when invite.inviter = redeem_invite.user_id and invite.state = 'live' then 'own_code'
        when invite.state = 'withdrawn' or other.pair_id is not null then 'withdrawn'
        when me.pair_id is not null then 'already_paired'
        else 'paired'
    end;
    case
        when status = 'paired' then
            pair_id := pairing.join_people(invite.id, invite.inviter, redeem_invite.user_id);
            partner := invite.inviter;
        when status = 'already_paired'
            or status = 'already_used' and invite.redeemed_by = redeem_invite.user_id and me.pair_id is not null
        then
            select mine.pair_id, mine.partner into pair_id, partner
            from pairing.partner_of(redeem_invite.user_id) as mine;
        when status = 'own_code' then
            null;
        else
            me.wrong_tries := me.wrong_tries + 1;
            update pairing.person
            set
                wrong_tries = me.wrong_tries,
                wrong_since = case me.wrong_tries when 1 then clock_timestamp() else wrong_since end
            where person.user_id = redeem_invite.user_id
            returning wrong_since into me.wrong_since;
            perform pairing.count_wrong_code(redeem_invite.source);
    end case;
    tries_left := most_tries - me.wrong_tries;
    if tries_left = 0 then
        retry_at := least(me.wrong_since + window_of_tries, crowded_until);
    end if;
    return next;
end
$$;
