-- hidden_columns: returns the views of this app that errand_monitor reads without these columns.
create or replace function pairing.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, pairing, pg_temp as $$
    values
        ('pairing.invite_status', '{code,inviter,redeemed_by}'::text[]),
        ('pairing.pair_status', '{inviter,invitee,ended_by}')
$$;
comment on function pairing.hidden_columns() is
    'Returns the columns that errand_monitor may not read: they say whose something is, or what it says';
