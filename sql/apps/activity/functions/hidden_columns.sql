-- hidden_columns: the views of this app of which errand_monitor reads all columns but these.
create or replace function activity.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, activity, pg_temp as $$
    values
        ('activity.activity_status', '{user_id,sender,message,content_state}'::text[]),
        ('activity.push_record', '{payload}')
$$;
comment on function activity.hidden_columns() is
    'The views of this app of which errand_monitor reads all columns but these: they say whose something is, or what it says';
