-- partner_of: returns a user's partner; no row if the user is in no pair.
--
--   select pair_id, partner, paired_at from pairing.partner_of('user-17');
-- errand: for enqueuer, ops
create or replace function pairing.partner_of(user_id text)
returns table (pair_id uuid, partner text, paired_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pairing, pg_temp as $$
    select pair.id, case pair.inviter when person.user_id then pair.invitee else pair.inviter end, pair.paired_at
    from pairing.person
    join pairing.pair on pair.id = person.pair_id
    where person.user_id = partner_of.user_id
$$;
