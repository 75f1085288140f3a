-- renew: extends the lease of a worker that pulls, while its jobs run: as errand.pull does, without new jobs.
--
--   select lost from errand.renew('6f1e…', '{2a.1.3f}');
--
-- running has the tokens of all jobs that the worker holds. lost has those that are its no more: stop them, their
-- outcomes change nothing. is_alive says whether the worker has its lease still. If not, all are lost, and the next
-- errand.pull registers it anew.
--
-- Raises ER422 if running is null: it would say that the worker holds nothing.
-- errand: for worker
-- errand: topic pull
create or replace function errand.renew(
    worker uuid, running text[] default '{}', out lost text[], out is_alive boolean
)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
declare
    leased record;
begin
    if running is null then
        raise exception 'renew: running: expected an array, got null' using errcode = 'ER422';
    end if;
    select * into leased from errand_internal.renew_pulling(renew.worker, running);
    lost := leased.lost;
    is_alive := (leased.own).id is not null;
end
$$;
