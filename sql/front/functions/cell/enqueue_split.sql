-- enqueue_split: for errand_front.enqueue_parts: enqueues each array of jobs at its place, on all places at once.
create or replace function errand_front.enqueue_split(places int[], jobs jsonb[])
returns table (place int, ordinal int, job_id bigint, inserted boolean, state text)
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    split places, jobs;
    run on places;
    select ($1)[1] as place, added.* from errand.enqueue_many(($2)[1]) as added;
$$;
