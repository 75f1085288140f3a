-- loads_at: for errand_front.loads: returns how loaded a cell is.
create or replace function errand_front.loads_at(partition int) returns table (
    cell int, waiting bigint, running bigint, failed bigint, oldest_age interval, finished_5_min bigint, workers bigint,
    connections bigint, bytes bigint)
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on partition;
    select errand.cell(), one.* from errand_internal.cell_load_v1() as one;
$$;
