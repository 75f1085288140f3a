-- drop_own_schedule: deletes a schedule of the caller's own, as errand.drop_schedule does.
--
--   select errand.drop_own_schedule('shop_report');
--
-- Raises ER404 for another schedule.
-- errand: for enqueuer, ops
-- errand: topic follow
create or replace function errand.drop_own_schedule(name text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform errand_internal.check_own_schedule('drop_own_schedule', drop_own_schedule.name);
    perform errand.drop_schedule(drop_own_schedule.name);
end
$$;
