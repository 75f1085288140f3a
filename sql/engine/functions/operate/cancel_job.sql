-- cancel_job: cancels one unfinished job, as errand.cancel does.
--
--   select * from errand.cancel_job(4711, 'wrong customer');
--
-- Returns its state before and now; an ended job stays as it is. Raises ER404 for an unknown id, and ER422
-- without a reason.
-- errand: after cancel, one_job
-- errand: for ops
-- errand: topic cancel
create or replace function errand.cancel_job(id bigint, reason text)
returns table (job_id bigint, was text, now text)
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    select * from errand.cancel(errand_internal.one_job('cancel_job', $1), $2)
$$;
