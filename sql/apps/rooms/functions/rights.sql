-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function rooms.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, rooms, pg_temp as $$
    values
        ('errand_enqueuer', 'function', 'rooms.emit rooms.user_room'),
        ('errand_ops', 'function',
            'rooms.emit rooms.user_room rooms.set_channel_prefix rooms.set_attachment_table'),
        ('errand_ops', 'view', 'rooms.setting_status'),
        ('errand_monitor', 'view', 'rooms.setting_status')
$$;
comment on function rooms.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
