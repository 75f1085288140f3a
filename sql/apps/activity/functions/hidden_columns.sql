-- hidden_columns: returns the views of this app that errand_monitor reads without these columns.
create or replace function activity.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, activity, pg_temp as $$
    values
        ('activity.activity_status', '{user_id,sender_id,sender,message,content_state}'::text[]),
        ('activity.push_record', '{payload}')
$$;
comment on function activity.hidden_columns() is
    'Returns the columns that errand_monitor may not read: they say whose something is, or what it says';
