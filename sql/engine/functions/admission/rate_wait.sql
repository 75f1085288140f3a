-- rate_wait: returns the time in microseconds until the queue's rate has room; null if it has room, or no rate is set.
create or replace function errand.rate_wait(queue text) returns bigint
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select ceil(extract(epoch from min(started.last_at) + rate.per - clock_timestamp()) * 1000000)::bigint
    from errand.rate
    join errand.rate_log as log on log.queue = rate.queue
    cross join lateral unnest(log.last_at, log.jobs) as started(last_at, jobs)
    where rate.queue = rate_wait.queue and started.last_at > clock_timestamp() - rate.per
    group by rate.queue
    -- After the server's clock was set back, only a claim can tell: see errand.rate_room.
    having sum(started.jobs) >= rate.allowed and max(started.last_at) <= clock_timestamp()
$$;
comment on function errand.rate_wait(text) is
    'Returns the time in microseconds until the queue''s rate has room; null if it has room, or no rate is set';
