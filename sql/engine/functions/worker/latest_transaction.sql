-- latest_transaction: returns this transaction's id if it has one, else the newest id that the server has assigned.
-- Assigns none.
--
-- A snapshot does not have it: its xmax is one above the newest id that has ended. age() counts from the newest
-- assigned id, in 32 bits; xmax, which is near it, adds the rest.
create or replace function errand_internal.latest_transaction(snapshot pg_snapshot) returns bigint
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select pg_snapshot_xmax(snapshot)::text::bigint + age(pg_snapshot_xmax(snapshot)::xid)
$$;
