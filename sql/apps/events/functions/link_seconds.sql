-- link_seconds: returns how many seconds a signed URL of a file of an event may be valid: until its purge, 7 days at
-- most.
create or replace function events.link_seconds(purge_at timestamptz) returns int
language sql volatile set search_path = pg_catalog, events, pg_temp as $$
    select greatest(0, least(604800, floor(extract(epoch from link_seconds.purge_at - clock_timestamp()))))::int
$$;
