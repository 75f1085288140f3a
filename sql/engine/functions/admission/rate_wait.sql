-- rate_wait: how long until the queue's rate has room again; null where it has, or none is set.
create or replace function errand.rate_wait(queue text) returns interval
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select min(started.last_at) + rate.per - clock_timestamp()
    from errand.rate
    join errand.rate_log as log on log.queue = rate.queue
    cross join lateral unnest(log.last_at, log.jobs) as started(last_at, jobs)
    where rate.queue = rate_wait.queue and started.last_at > clock_timestamp() - rate.per
    group by rate.queue
    -- After the server's clock went back, the claim has to look: see errand.rate_room.
    having sum(started.jobs) >= rate.allowed and max(started.last_at) <= clock_timestamp()
$$;
comment on function errand.rate_wait(text) is 'How long until the queue''s rate has room again; null = it has, or none is set';
