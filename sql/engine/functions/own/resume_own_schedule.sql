-- resume_own_schedule: resumes a schedule of the caller's own, as errand.resume_schedule does.
--
--   select errand.resume_own_schedule('shop_report');
--
-- Raises ER404 for another schedule.
-- errand: for enqueuer, ops
-- errand: topic follow
create or replace function errand.resume_own_schedule(name text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform errand_internal.check_own_schedule('resume_own_schedule', resume_own_schedule.name);
    perform errand.resume_schedule(resume_own_schedule.name);
end
$$;
