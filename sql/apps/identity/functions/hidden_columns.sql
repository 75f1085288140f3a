-- hidden_columns: returns the views of this app that errand_monitor reads without these columns.
create or replace function identity.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, identity, pg_temp as $$
    values ('identity.number_status', '{number,user_id}'::text[])
$$;
comment on function identity.hidden_columns() is
    'Returns the columns that errand_monitor may not read: they say whose something is, or what it says';
