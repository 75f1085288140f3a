-- hidden_columns: the views of this app of which errand_monitor reads all columns but these.
create or replace function pairing.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, pairing, pg_temp as $$
    values
        ('pairing.invite_status', '{code,inviter,redeemed_by}'::text[]),
        ('pairing.pair_status', '{inviter,invitee,ended_by}')
$$;
comment on function pairing.hidden_columns() is
    'The views of this app of which errand_monitor reads all columns but these: they say whose something is, or what it says';
