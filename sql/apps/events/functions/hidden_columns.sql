-- hidden_columns: the views of this app of which errand_monitor reads all columns but these.
create or replace function events.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, events, pg_temp as $$
    values
        ('events.event_photo_status', '{user_id,source_key,error}'::text[]),
        ('events.event_status', '{title,host}')
$$;
comment on function events.hidden_columns() is
    'The views of this app of which errand_monitor reads all columns but these: they say whose something is, or what it says';
