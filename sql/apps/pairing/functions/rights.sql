-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function pairing.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, pairing, pg_temp as $$
    values
        ('errand_enqueuer', 'function',
            'pairing.create_invite pairing.redeem_invite pairing.disconnect pairing.partner_of pairing.invites_of'),
        ('errand_enqueuer', 'view', 'pairing.invite_status pairing.pair_status'),
        ('errand_ops', 'function',
            'pairing.create_invite pairing.redeem_invite pairing.disconnect pairing.partner_of pairing.invites_of '
            'pairing.set_bounds'),
        ('errand_ops', 'view', 'pairing.invite_status pairing.pair_status')
$$;
comment on function pairing.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
