-- stored_options: returns the options of a job as they are stored: without nulls, and with the login whose job it is,
-- if there is one. Null if there are none.
create or replace function errand_internal.stored_options(options jsonb, owner text) returns jsonb
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select nullif(
        coalesce(jsonb_strip_nulls(options), '{}')
            || case when owner is not null then jsonb_build_object('owner', owner) else '{}' end, '{}')
$$;
