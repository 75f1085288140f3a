-- hidden_columns: returns the views of this app that errand_monitor reads without these columns.
create or replace function notify.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, notify, pg_temp as $$
    values
        ('notify.message_status', '{title,body,collapse,data}'::text[]),
        ('notify.delivery_status', '{user_id}')
$$;
comment on function notify.hidden_columns() is
    'Returns the columns that errand_monitor may not read: they say whose something is, or what it says';
