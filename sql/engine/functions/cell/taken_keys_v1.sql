-- taken_keys_v1: returns those of the unique keys that unfinished jobs of this cell have, and those that no other job
-- gets for a time (unique_for of errand.enqueue). An expired job has none.
--
-- The front asks the former cell of a key while its routes change.
-- errand: after is_expired
-- errand: for enqueuer, ops
create or replace function errand_internal.taken_keys_v1(keys text[]) returns setof text
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select unique_key from errand.job where unique_key = any (keys) and not errand_internal.is_expired(job)
    union
    select unique_key from errand.unique_period where unique_key = any (keys) and until > clock_timestamp()
$$;
