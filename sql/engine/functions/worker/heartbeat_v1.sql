-- heartbeat_v1: extends the leases of a process's worker ids. It reads no jobs, so a lock of errand.job ends no lease.
--
-- alive has the ids that still hold a lease. A missing one has lost it, and its jobs run elsewhere. In a copy that
-- nobody has adopted all are missing. published has the highest marks of other live workers of the same kinds, by
-- queue. A worker that seldom claims would otherwise scan all that they have done since. The 20 workers with the latest
-- heartbeats are read, so the cost has a bound.
--
-- A worker whose row another session has locked keeps its lease: no other session can end it meanwhile.
--
-- peers is the number of other workers with the same queues and kinds that run nothing: they share probes and wake-ups.
--
-- started is errand.server_start(). The marks are stored for other workers only if they were taken under that start.
create or replace function errand.heartbeat_v1(
    worker_ids bigint[], running int, marks jsonb, marks_started text
) returns table (alive bigint[], published jsonb, started text, peers int)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    perform set_config('synchronous_commit', 'off', true);
    started := errand.server_start();
    update errand.worker
    set heartbeat_at = now(), running = heartbeat_v1.running, server_start = heartbeat_v1.started,
        marks = case when heartbeat_v1.marks_started = heartbeat_v1.started then heartbeat_v1.marks else '{}' end
    where id in (select own.id from errand.worker as own where own.id = any (worker_ids) for update skip locked)
        and errand.is_home();
    alive := array(select id from errand.worker where id = any (worker_ids) and errand.is_home());
    published := errand.furthest_marks(array(
        select other.marks
        from errand.worker as own
        join errand.worker as other
            on other.kinds @> own.kinds and other.id <> all (worker_ids) and other.heartbeat_at > now() - other.lease
                and other.server_start = own.server_start
        where own.id = worker_ids[1]
        order by other.heartbeat_at desc
        limit 20));
    peers := (
        select count(*)
        from errand.worker as own
        join errand.worker as other
            on other.queues = own.queues and other.kinds = own.kinds and other.id <> all (worker_ids)
                and other.running = 0 and other.drained_at is null and other.heartbeat_at > now() - other.lease / 2
        where own.id = worker_ids[1]);
    return next;
end
$$;
comment on function errand.heartbeat_v1(bigint[], int, jsonb, text) is
    'For workers: extends leases; returns the worker ids that hold one, marks of other workers, the server''s '
    'start, and how many idle workers are like it';
