-- refresh_statistics: refreshes the statistics if nobody has for 30 s, as while no worker and no scheduler run. Returns
-- whether it did.
--
--   select errand.refresh_statistics();
--
-- `errand web` calls it. A refresh reads a bounded sample (errand_internal.update_statistics), and takes at most 2 % of
-- the time.
-- errand: for worker, ops, monitor
-- errand: topic health
create or replace function errand.refresh_statistics() returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    if exists (
            select
            from errand.maintenance_task
            where name = 'statistics'
                and done_at between now() - greatest(interval '30 seconds', took_ms * 49 * interval '1 millisecond')
                    and now())
    then
        return false;
    end if;
    return errand_internal.update_statistics() is not null;
end
$$;
