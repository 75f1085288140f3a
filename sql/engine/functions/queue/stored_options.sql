-- stored_options: returns the options of a job as they are stored: without nulls, and with the login whose job it is
-- the token of the HTTP API that enqueued it, its order key and its batch, if there are such. Null if there are none.
create or replace function errand_internal.stored_options(
    options jsonb, owner text, token text default null, ordering jsonb default null, batch bigint default null
) returns jsonb
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    return nullif(
        coalesce(jsonb_strip_nulls(options), '{}')
            || case when owner is not null then jsonb_build_object('owner', owner) else '{}' end
            || case when token is not null then jsonb_build_object('token', token) else '{}' end
            || coalesce(ordering, '{}')
            || case when batch is not null then jsonb_build_object('batch', batch) else '{}' end, '{}');
end
$$;
