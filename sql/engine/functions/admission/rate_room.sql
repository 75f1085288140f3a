-- rate_room: how many jobs of the queue may start now; null if nobody has set a rate. The caller holds the lock of
-- errand.lock_limits, so that nobody else starts any meanwhile.
--
-- Jobs that were started within a hundredth of the span count until the last of them is that old: never too many, and
-- at most a hundredth too few. What was started in a time to come, before the server's clock went back, counts as of
-- now: for another span, not until the clock has come back there.
create or replace function errand.rate_room(queue text) returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    present constant timestamptz := clock_timestamp();
begin
    update errand.rate_log
    set first_at = array(select least(at, present) from unnest(first_at) with ordinality as kept(at, index) order by index),
        last_at = array(select least(at, present) from unnest(last_at) with ordinality as kept(at, index) order by index)
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
comment on function errand.rate_room(text) is 'How many jobs of the queue may start now; null = no rate is set';
