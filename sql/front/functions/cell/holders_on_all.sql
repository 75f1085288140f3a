-- holders_on_all: for errand_front.partitions_of_ids: returns which cells have jobs with these ids.
create or replace function errand_front.holders_on_all(ids bigint[]) returns table (job_id bigint, cell int)
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on all;
    select one.id as job_id, errand.cell() as cell
    from unnest(ids) as one(id)
    where errand_internal.state_of(one.id) is not null;
$$;
