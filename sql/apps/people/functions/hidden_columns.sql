-- hidden_columns: returns the views of this app that errand_monitor reads without these columns.
create or replace function people.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, people, pg_temp as $$
    values ('people.erasure_status', '{reason}'::text[])
$$;
comment on function people.hidden_columns() is
    'Returns the columns that errand_monitor may not read: they say whose something is, or what it says';
