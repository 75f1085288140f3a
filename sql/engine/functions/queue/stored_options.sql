-- stored_options: returns the options of a job as they are stored: without nulls, and with the login whose job it is,
-- if that follows it. Null if there are none.
create or replace function errand_internal.stored_options(options jsonb, follow boolean) returns jsonb
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select nullif(
        coalesce(jsonb_strip_nulls(options), '{}')
            || case when follow then jsonb_build_object('owner', session_user) else '{}' end, '{}')
$$;
