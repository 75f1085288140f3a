-- claimed_by: returns the jobs that these workers have claimed and may still hold, by the records of their claims. Each
-- job is returned once, whatever its state is now.
create or replace function errand_internal.claimed_by(worker_ids bigint[]) returns bigint[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(array_agg(distinct job_id), '{}')
    from errand.claim
    cross join unnest(job_ids) as job_id
    where worker_id = any (worker_ids)
$$;
