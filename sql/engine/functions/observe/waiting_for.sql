-- waiting_for: returns what a parked job waits for, as a sentence: limit tenant/42 is full. Null for null.
-- errand: for ops, monitor
create or replace function errand_internal.waiting_for(parked_for text) returns text
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select format(says, substr(parked_for, length(prefix) + 1))
    from errand.park_reason
    where starts_with(parked_for, prefix)
    order by length(prefix) desc
    limit 1
$$;
