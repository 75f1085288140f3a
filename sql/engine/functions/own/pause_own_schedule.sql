-- pause_own_schedule: pauses a schedule of the caller's own, as errand.pause_schedule does.
--
--   select errand.pause_own_schedule('shop_report', 'the shop is closed');
--
-- Raises ER404 for another schedule, ER422 without a reason.
-- errand: for enqueuer, ops
-- errand: topic follow
create or replace function errand.pause_own_schedule(name text, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform errand_internal.check_own_schedule('pause_own_schedule', pause_own_schedule.name);
    perform errand.pause_schedule(pause_own_schedule.name, pause_own_schedule.reason);
end
$$;
