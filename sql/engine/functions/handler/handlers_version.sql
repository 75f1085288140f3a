-- handlers_version: returns a number that changes when an app is installed or dropped, a SQL function or an endpoint
-- becomes or ceases to be the handler of a kind, or an endpoint is set anew. A worker compares it with each heartbeat,
-- and registers anew.
create or replace function errand_internal.handlers_version() returns bigint
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select hashtextextended(
        concat(
            (
                select string_agg(
                    kind || ' ' || coalesce(endpoint, extract(epoch from timeout)::text), ' ' order by kind)
                from errand.handler
            ), '/',
            (select string_agg(name, ' ' order by name) from errand.app), '/',
            (select string_agg(endpoint::text, ' ' order by name) from errand.endpoint)), 0)
$$;
