-- rights: returns what each role may call and read of this app, for errand.apply_rights.
create or replace function quotes.rights() returns table (role text, what text, names text)
language sql immutable set search_path = pg_catalog, quotes, pg_temp as $$
    values
        ('errand_enqueuer', 'function',
            'quotes.of_the_day quotes.card quotes.search quotes.subscribe quotes.unsubscribe quotes.subscription_of'),
        ('errand_enqueuer', 'view', 'quotes.quote_days quotes.card_status quotes.categories quotes.authors'),
        ('errand_ops', 'function',
            'quotes.of_the_day quotes.card quotes.search quotes.subscribe quotes.unsubscribe quotes.subscription_of '
            'quotes.put quotes.retire'),
        ('errand_ops', 'view',
            'quotes.quote_days quotes.quote_status quotes.card_status quotes.subscription_status quotes.zone_status '
            'quotes.categories quotes.authors'),
        ('errand_monitor', 'view',
            'quotes.quote_days quotes.quote_status quotes.card_status quotes.subscription_status quotes.zone_status '
            'quotes.categories quotes.authors')
$$;
comment on function quotes.rights() is
    'Returns what each role may call and read of this app; errand.apply_rights grants it';
