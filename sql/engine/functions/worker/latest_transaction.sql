-- latest_transaction: this transaction's id if it has one, else the newest id that was given out. Gives out none.
--
-- A snapshot doesn't say: its xmax is one above the newest id that has ended. age() counts from the id that is asked for
-- here, in 32 bits; xmax, which is near it, brings the rest.
create or replace function errand.latest_transaction(snapshot pg_snapshot) returns bigint
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select pg_snapshot_xmax(snapshot)::text::bigint + age(pg_snapshot_xmax(snapshot)::xid)
$$;
comment on function errand.latest_transaction(pg_snapshot) is
    'This transaction''s id if it has one, else the newest one given out; for a worker''s low-water mark';
