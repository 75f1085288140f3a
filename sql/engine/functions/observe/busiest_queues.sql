-- busiest_queues: returns the names of the queues to show first: those with workers, paused ones, then the largest, by
-- the last statistics.
--
--   select set_config('errand.queues_to_show', array(select errand.busiest_queues(50))::text, true);
--
-- With that setting, errand.queue_status has only these until the end of the transaction, which saves time where there
-- are thousands.
-- errand: after ranked_queues
create or replace function errand.busiest_queues(shown int) returns setof text
language sql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
    select queue from errand.ranked_queues(busiest_queues.shown) where not is_folded
$$;
comment on function errand.busiest_queues(int) is
    'Returns the names of the queues to show first. Example: select errand.busiest_queues(50)';
