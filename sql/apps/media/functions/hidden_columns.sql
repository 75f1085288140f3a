-- hidden_columns: the views of this app of which errand_monitor reads all columns but these.
create or replace function media.hidden_columns() returns table (name text, columns text[])
language sql immutable set search_path = pg_catalog, media, pg_temp as $$
    values
        ('media.photo_status', '{owner,source_key,error}'::text[]),
        ('media.removal_status', '{key,error}'),
        ('media.upload_status', '{owner,key,error,attempts}')
$$;
comment on function media.hidden_columns() is
    'The views of this app of which errand_monitor reads all columns but these: they say whose something is, or what it says';
