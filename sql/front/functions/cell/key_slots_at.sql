-- key_slots_at: for errand_front.resolve_slots: returns the slots of the unique keys that unfinished jobs of a cell
-- have.
create or replace function errand_front.key_slots_at(partition int) returns setof int
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on partition;
    select taken from errand_internal.key_slots_v1() as taken;
$$;
