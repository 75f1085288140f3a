-- leave: ends the lease of a worker that pulls, which holds no job any more: call errand.release for those that it has
-- not begun. Jobs that it still holds are rescued, as those of a worker that was lost.
--
--   select errand.leave('6f1e…');
-- errand: for worker
-- errand: topic pull
create or replace function errand.leave(worker uuid) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    own_id constant bigint := (select id from errand.worker where pulls_as = leave.worker);
begin
    if own_id is not null then
        perform errand_internal.leave_v1(own_id, false);
    end if;
end
$$;
