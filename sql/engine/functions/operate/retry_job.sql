-- retry_job: makes one failed or cancelled job available again, as errand.retry does.
--
--   select * from errand.retry_job(4711, 'the bucket is back');
--
-- Returns its state before and now. Raises ER404 for an unknown id, ER409 as errand.retry does.
-- errand: after retry, one_job
-- errand: for ops
-- errand: topic retry
create or replace function errand.retry_job(id bigint, reason text default null, run_at timestamptz default null)
returns table (job_id bigint, was text, now text)
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    select * from errand.retry(errand_internal.one_job('retry_job', $1), $2, $3)
$$;
