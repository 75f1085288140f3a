-- moved_to_at: for errand_front.partitions_of_ids: returns which of the jobs a cell has moved to another, and to which.
create or replace function errand_front.moved_to_at(partition int, ids bigint[]) returns table (job_id bigint, cell int)
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on partition;
    select moved.* from errand_internal.moved_to_v1(ids) as moved;
$$;
