-- heartbeat_v1: extends the leases of a process's worker ids. It reads no jobs, so a lock of errand.job ends no lease.
--
-- alive has the ids that still hold a lease. A missing one has lost it, and its jobs run elsewhere. In a copy that
-- nobody has adopted all are missing. published has the highest marks of other live workers of the same kinds, by
-- queue, of those whose marks have moved lately. A worker that seldom claims would otherwise scan all that they have
-- done since. Of many, the 20 with the latest heartbeats count.
--
-- A worker whose row another session has locked keeps its lease: no other session can end it meanwhile.
--
-- peers is the number of other workers with the same queues and kinds that run nothing: they share probes and wake-ups.
-- maintenance_pause is errand_internal.maintenance_pause. A worker counts for half its lease after a heartbeat.
--
-- handlers_version is errand_internal.handlers_version: with another one than at its registration, a worker registers
-- anew.
--
-- started is errand_internal.server_start(). The marks are stored for other workers only if they were taken under that
-- start.
--
-- One scan of errand.worker serves all of it, since each of many workers makes this call every few seconds.
create or replace function errand_internal.heartbeat_v1(
    worker_ids bigint[], running int, marks jsonb, marks_started text
) returns table (
    alive bigint[], published jsonb, started text, peers int, maintenance_pause bigint, handlers_version bigint)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    stored jsonb[];
    own_marks jsonb;
begin
    perform set_config('synchronous_commit', 'off', true);
    started := errand_internal.server_start();
    own_marks := case when marks_started = started then heartbeat_v1.marks else '{}' end;
    update errand.worker
    set heartbeat_at = now(), running = heartbeat_v1.running, server_start = heartbeat_v1.started, marks = own_marks,
        marks_moved_at = case when worker.marks = own_marks then least(marks_moved_at, now()) else now() end
    where id in (select own.id from errand.worker as own where own.id = any (worker_ids) for update skip locked)
        and errand_internal.is_home();
    alive := array(select id from errand.worker where id = any (worker_ids) and errand_internal.is_home());
    select
        (array_agg(other.marks order by other.heartbeat_at desc) filter (
            where other.marks_moved_at > now() - other.lease and other.server_start = own.server_start
                and other.kinds @> own.kinds))[:20],
        count(*) filter (
            where is_fresh and other.likeness = own.likeness and other.running = 0 and other.drained_at is null),
        errand_internal.maintenance_pause(
            count(*) filter (where is_fresh and other.maintains and other.id < own.id),
            count(*) filter (where is_fresh and other.maintains and other.id > own.id))
    into stored, peers, maintenance_pause
    from errand.worker as own
    join errand.worker as other on other.id <> all (worker_ids) and other.heartbeat_at > now() - other.lease
    cross join lateral (select other.heartbeat_at > now() - other.lease / 2) as age(is_fresh)
    where own.id = worker_ids[1];
    published := case when stored is null then '{}' else errand_internal.furthest_marks(stored) end;
    handlers_version := errand_internal.handlers_version();
    return next;
end
$$;
