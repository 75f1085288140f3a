-- enqueue_split: for errand_front.enqueue_parts: enqueues each array of jobs at its partition, on all partitions at
-- once.
create or replace function errand_front.enqueue_split(partitions int[], jobs jsonb[])
returns table (partition int, ordinal int, job_id bigint, inserted boolean, state text)
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    split partitions, jobs;
    run on partitions;
    select ($1)[1] as partition, added.* from errand.enqueue_many(($2)[1]) as added;
$$;
