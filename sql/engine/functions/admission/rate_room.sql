-- rate_room: returns how many jobs of the queue may start now; null = no rate is set. The caller holds the lock of
-- errand_internal.lock_limits, so no other session starts any meanwhile.
--
-- Jobs that started within a hundredth of the span form a group, which counts until its last job is that old. The rate
-- is never exceeded, and falls short by a hundredth at most. Starts in the future, from before the server's clock was
-- set back, count as of now.
create or replace function errand_internal.rate_room(queue text) returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    present constant timestamptz := clock_timestamp();
begin
    update errand.rate_log
    set first_at = array(
            select least(at, present) from unnest(first_at) with ordinality as started(at, index) order by index),
        last_at = array(
            select least(at, present) from unnest(last_at) with ordinality as started(at, index) order by index)
    where rate_log.queue = rate_room.queue and present < any (last_at);
    return (
        select greatest(0, rate.allowed - (
            select coalesce(sum(started.jobs), 0)
            from errand.rate_log as log
            cross join lateral unnest(log.last_at, log.jobs) as started(last_at, jobs)
            where log.queue = rate.queue and started.last_at > present - rate.per))
        from errand.rate
        where rate.queue = rate_room.queue);
end
$$;
