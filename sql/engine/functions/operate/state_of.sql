-- state_of: returns a job's state, in whichever table it is; null for an unknown job.
-- errand: for ops, monitor
create or replace function errand_internal.state_of(job_id bigint) returns text
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select state from errand.job where id = job_id
    union all
    select 'failed' from errand.failed where id = job_id
    union all
    (select state from errand.history where id = job_id order by finished_at desc)
    limit 1
$$;
