-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function people.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, people, pg_temp as $$
    values
        ('errand_enqueuer', 'function', 'people.rename people.name_of people.erase people.export'),
        ('errand_enqueuer', 'view', 'people.erasure_status'),
        ('errand_ops', 'function', 'people.rename people.name_of people.erase people.export'),
        ('errand_ops', 'view', 'people.erasure_status')
$$;
comment on function people.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
