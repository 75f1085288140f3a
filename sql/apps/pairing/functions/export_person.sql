-- export_person: returns a user's pairs, and the invites that the user has created or redeemed. For people.export.
create or replace function pairing.export_person(user_id text) returns jsonb
language sql stable set search_path = pg_catalog, pairing, pg_temp as $$
    select jsonb_strip_nulls(jsonb_build_object(
        'pairs', (
            select jsonb_agg(jsonb_build_object(
                'pair_id', id, 'partner', case inviter when export_person.user_id then invitee else inviter end,
                'paired_at', paired_at, 'ended_at', ended_at, 'ended_by', ended_by) order by paired_at)
            from pairing.pair
            where inviter = export_person.user_id or invitee = export_person.user_id),
        'invites', (
            select jsonb_agg(jsonb_build_object(
                'code', code, 'created_at', created_at, 'expires_at', expires_at, 'state', state,
                'redeemed_by', redeemed_by) order by id)
            from pairing.invite
            where inviter = export_person.user_id),
        'redeemed', (
            select jsonb_agg(jsonb_build_object('inviter', inviter, 'redeemed_at', ended_at) order by id)
            from pairing.invite
            where redeemed_by = export_person.user_id),
        'wrong_codes', (
            select jsonb_build_object('tries', wrong_tries, 'since', wrong_since)
            from pairing.person
            where person.user_id = export_person.user_id and wrong_tries > 0)))
$$;
