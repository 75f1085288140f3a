-- refresh_statistics: refreshes the statistics if nobody has for 30 s, as while no worker and no scheduler run. Returns
-- whether it did.
--
--   select errand.refresh_statistics();
--
-- `errand web` calls it. Its bounds are those of errand_internal.update_statistics, and its caller can't change
-- them.
-- errand: after update_statistics
-- errand: for worker, ops, monitor
-- errand: topic health
create or replace function errand.refresh_statistics() returns boolean
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    select errand_internal.update_statistics('30 seconds')
$$;
