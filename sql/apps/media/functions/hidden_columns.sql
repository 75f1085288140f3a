-- hidden_columns: returns the views of this app that errand_monitor reads without these columns.
create or replace function media.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, media, pg_temp as $$
    values
        ('media.photo_status', '{owner,source_key,error}'::text[]),
        ('media.removal_status', '{key,error}'),
        ('media.upload_status', '{owner,key,error,attempts}')
$$;
comment on function media.hidden_columns() is
    'Returns the columns that errand_monitor may not read: they say whose something is, or what it says';
