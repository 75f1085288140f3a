-- rate_wait: returns the time in microseconds until the queue's rate has room, once `more` jobs have started now; null
-- if it has room, or no rate is set.
create or replace function errand_internal.rate_wait(queue text, more int default 0) returns bigint
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select ceil(extract(epoch from coalesce(min(last_at) + rate.per - clock_timestamp(), rate.per)) * 1000000)::bigint
    from errand.rate
    left join lateral (
        select started.last_at, started.jobs
        from errand.rate_log as log
        cross join lateral unnest(log.last_at, log.jobs) as started(last_at, jobs)
        where log.queue = rate.queue and started.last_at > clock_timestamp() - rate.per
    ) as recent on true
    where rate.queue = rate_wait.queue
    group by rate.queue
    -- After the server's clock was set back, only a claim can tell: see errand_internal.rate_room.
    having coalesce(sum(jobs), 0) + rate_wait.more >= rate.allowed
        and (max(last_at) > clock_timestamp()) is not true
$$;
