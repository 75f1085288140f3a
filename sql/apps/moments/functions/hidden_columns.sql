-- hidden_columns: returns the views of this app that errand_monitor reads without these columns.
create or replace function moments.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, moments, pg_temp as $$
    values ('moments.moment_status', '{sender}'::text[])
$$;
comment on function moments.hidden_columns() is
    'Returns the columns that errand_monitor may not read: they say whose something is, or what it says';
