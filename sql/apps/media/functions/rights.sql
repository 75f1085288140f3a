-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function media.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, media, pg_temp as $$
    values
        ('errand_enqueuer', 'function',
            'media.submit media.submit_upload media.retry_photo media.retry_upload media.remove'),
        ('errand_enqueuer', 'view', 'media.photo_status media.upload_status media.variant_status'),
        ('errand_ops', 'function',
            'media.submit media.submit_upload media.retry_photo media.retry_upload media.remove media.retry_removals '
            'media.store_v1 media.set_store_v1'),
        ('errand_ops', 'view',
            'media.photo_status media.upload_status media.variant_status media.removal_status media.receipt_status'),
        ('errand_monitor', 'view', 'media.receipt_status media.variant_status')
$$;
comment on function media.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
