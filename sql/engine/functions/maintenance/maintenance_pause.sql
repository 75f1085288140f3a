-- maintenance_pause: returns how long a worker that does maintenance waits at least between two calls, in microseconds:
-- not at all if it is one of the three oldest. So two of these may be lost at once, and nothing is late. All younger
-- ones together call four times a second for short tasks, as often for long ones, and each at most every 5 s.
create or replace function errand_internal.maintenance_pause(older bigint, younger bigint) returns bigint
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select case when older < 3 then 0 else greatest(5000000, (older + younger + 1) * 250000) end
$$;
