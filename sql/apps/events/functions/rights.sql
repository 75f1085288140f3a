-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function events.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, events, pg_temp as $$
    values
        ('errand_enqueuer', 'function',
            'events.create events.edit events.end_now events.delete events.join events.leave events.add_photo '
            'events.delete_photo events.photos_of events.participants_of events.rename_participant '
            'events.figures_of events.archive events.archive_status events.code events.of_user events.exclude '
            'events.readmit events.files_of'),
        -- Not event_photo_status, which has the photos before their reveal.
        ('errand_enqueuer', 'view', 'events.event_status events.code_status events.event_figures'),
        ('errand_ops', 'function',
            'events.create events.edit events.end_now events.delete events.join events.leave events.add_photo '
            'events.delete_photo events.photos_of events.participants_of events.rename_participant '
            'events.figures_of events.archive events.archive_status events.code events.of_user events.exclude '
            'events.readmit events.files_of'),
        ('errand_ops', 'view', 'events.event_status events.event_photo_status events.code_status events.event_figures')
$$;
comment on function events.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
