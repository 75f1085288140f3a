-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function devices.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, devices, pg_temp as $$
    values
        ('errand_enqueuer', 'function',
            'devices.register devices.forget devices.device_online devices.device_offline'),
        ('errand_enqueuer', 'view', 'devices.device_status devices.change_record'),
        ('errand_ops', 'function',
            'devices.register devices.forget devices.device_online devices.device_offline'),
        ('errand_ops', 'view', 'devices.device_status devices.change_record')
$$;
comment on function devices.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
