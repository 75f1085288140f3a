-- handlers_version: returns a number that changes when an app is installed or dropped, or a SQL function becomes or
-- ceases to be the handler of a kind. A worker compares it with each heartbeat, and registers anew.
create or replace function errand_internal.handlers_version() returns bigint
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select hashtextextended(
        concat(
            (select string_agg(kind || ' ' || extract(epoch from timeout), ' ' order by kind) from errand.handler), '/',
            (select string_agg(name, ' ' order by name) from errand.app)), 0)
$$;
