-- kinds_of_endpoints: returns the kinds that endpoints handle, each with its endpoint as a worker needs it. Each
-- endpoint has one more, endpoint.NAME, for errand.test_endpoint.
create or replace function errand_internal.kinds_of_endpoints() returns jsonb
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(
        jsonb_object_agg(bound.kind, jsonb_build_object(
            'name', target.name, 'url', target.url, 'secret_name', target.secret_name,
            'timeout_ms', (extract(epoch from target.timeout) * 1000)::bigint,
            'callback_timeout_ms', (extract(epoch from target.callback_timeout) * 1000)::bigint,
            'allows_private', target.allows_private)),
        '{}')
    from (
        select kind, endpoint from errand.handler where endpoint is not null
        union all
        select 'endpoint.' || name, name from errand.endpoint
    ) as bound
    join errand.endpoint as target on target.name = bound.endpoint
$$;
