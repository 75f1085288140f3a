-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function moments.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, moments, pg_temp as $$
    values
        ('errand_enqueuer', 'function', 'moments.send moments.current moments.withdraw'),
        ('errand_enqueuer', 'view', 'moments.moment_status'),
        ('errand_ops', 'function', 'moments.send moments.current moments.withdraw'),
        ('errand_ops', 'view', 'moments.moment_status')
$$;
comment on function moments.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
