-- taken_keys_at: for errand_front.route: returns those of the unique keys that unfinished jobs of a cell have.
create or replace function errand_front.taken_keys_at(partition int, keys text[]) returns setof text
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on partition;
    select taken from errand_internal.taken_keys_v1(keys) as taken;
$$;
