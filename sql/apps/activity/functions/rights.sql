-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function activity.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, activity, pg_temp as $$
    values
        ('errand_enqueuer', 'function',
            'activity.start activity.start_demo activity.update activity.end_now activity.set_token'),
        ('errand_enqueuer', 'view', 'activity.activity_status activity.change_record activity.push_record'),
        ('errand_ops', 'function',
            'activity.start activity.start_demo activity.update activity.end_now activity.set_token '
            'activity.set_margin'),
        ('errand_ops', 'view', 'activity.activity_status activity.change_record activity.push_record'),
        ('errand_monitor', 'view', 'activity.change_record')
$$;
comment on function activity.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
