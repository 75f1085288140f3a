-- rest_after: returns how long a maintenance task pauses that has run since began: so long that it takes at most its
-- share of the time.
create or replace function errand_internal.rest_after(existing errand.maintenance_task, began timestamptz)
returns interval
language sql set search_path = pg_catalog, errand, pg_temp as $$
    select (clock_timestamp() - began) * (1 / existing.share - 1)
$$;
