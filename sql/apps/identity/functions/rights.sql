-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function identity.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, identity, pg_temp as $$
    values
        ('errand_enqueuer', 'function', 'identity.assign identity.number_of identity.user_of'),
        ('errand_enqueuer', 'view', 'identity.number_status'),
        ('errand_ops', 'function',
            'identity.assign identity.number_of identity.user_of identity.set_pool_target'),
        ('errand_ops', 'view', 'identity.number_status identity.pool_status'),
        ('errand_monitor', 'view', 'identity.pool_status')
$$;
comment on function identity.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
