-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function notify.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, notify, pg_temp as $$
    values
        ('errand_enqueuer', 'function', 'notify.send notify.withdraw'),
        ('errand_enqueuer', 'view', 'notify.message_status notify.delivery_status notify.profiles'),
        ('errand_ops', 'function', 'notify.send notify.withdraw notify.set_profile'),
        ('errand_ops', 'view', 'notify.message_status notify.delivery_status notify.profiles'),
        ('errand_monitor', 'view', 'notify.profiles')
$$;
comment on function notify.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
