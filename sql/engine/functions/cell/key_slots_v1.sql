-- key_slots_v1: returns the slots of the front's routes in which this cell has unfinished jobs with unique keys.
create or replace function errand_internal.key_slots_v1() returns setof int
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select distinct (hashtextextended(unique_key, 0) & 1023)::int from errand.job where unique_key is not null
$$;
