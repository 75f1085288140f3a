-- reschedule_job: gives one waiting job another time, priority or queue, as errand.reschedule does.
--
--   select * from errand.reschedule_job(4711, 'more workers there', queue => 'bulk');
--
-- Returns its state before and now; a running or ended job stays as it is. Raises ER404 for an unknown id, and as
-- errand.reschedule does.
-- errand: after one_job, reschedule
-- errand: for ops
-- errand: topic move
create or replace function errand.reschedule_job(
    id bigint, reason text default null, run_at timestamptz default null, priority int default null,
    queue text default null, force boolean default false
) returns table (job_id bigint, was text, now text)
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    select * from errand.reschedule(errand_internal.one_job('reschedule_job', $1), $2, $3, $4, $5, $6)
$$;
