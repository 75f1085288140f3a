-- hidden_columns: returns the views of this app that errand_monitor reads without these columns.
create or replace function events.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, events, pg_temp as $$
    values
        ('events.event_photo_status', '{user_id,source_key,error}'::text[]),
        ('events.event_status', '{title,host}'),
        ('events.event_figures', '{host}'),
        ('events.code_status', '{link,key}')
$$;
comment on function events.hidden_columns() is
    'Returns the columns that errand_monitor may not read: they say whose something is, or what it says';
