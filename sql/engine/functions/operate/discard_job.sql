-- discard_job: gives up one failed job, as errand.discard does.
--
--   select * from errand.discard_job(4711, 'the customer has left');
--
-- Returns its state before and now; another job stays as it is. Raises ER404 for an unknown id, and ER422
-- without a reason.
-- errand: after discard, one_job
-- errand: for ops
-- errand: topic retry
create or replace function errand.discard_job(id bigint, reason text)
returns table (job_id bigint, was text, now text)
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    select * from errand.discard(errand_internal.one_job('discard_job', $1), $2)
$$;
