-- busiest_queues: returns the names of the queues to show first: those with workers, paused ones, then the largest.
--
--   select errand.busiest_queues(50);
--
-- errand: for ops, monitor
-- errand: topic health
create or replace function errand.busiest_queues(shown int) returns setof text
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
begin
    return query
    select status.queue
    from errand.queues as status
    order by
        status.workers > 0 desc, status.paused_at is not null desc,
        status.waiting + status.running + status.scheduled + status.parked + status.failed desc, status.queue
    limit busiest_queues.shown;
end
$$;
