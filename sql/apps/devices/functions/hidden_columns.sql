-- hidden_columns: returns the views of this app that errand_monitor reads without these columns.
create or replace function devices.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, devices, pg_temp as $$
    values
        ('devices.device_status', '{user_id,token_prefix}'::text[]),
        ('devices.change_record', '{user_id,from_user}')
$$;
comment on function devices.hidden_columns() is
    'Returns the columns that errand_monitor may not read: they say whose something is, or what it says';
