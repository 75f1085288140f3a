-- stands_still: for errand.overdue: returns whether no job of the queue has started for a minute though one could: a
-- live worker that is not drained has an idle slot for the queue, and the queue's rate has room.
--
-- The caller knows that a job of the queue is due, and has a kind of such a worker. A worker that shares its slots with
-- other databases is not judged, and neither is one that runs a job alone because it was in two crashes: it claims
-- nothing meanwhile.
-- errand: after rate_wait
-- errand: for ops, monitor
create or replace function errand_internal.stands_still(queue text) returns boolean
language sql volatile security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
    select
        errand_internal.rate_wait(stands_still.queue) is null
        -- Completions are counted within a second or two.
        and not exists (
            select
            from errand.finished_per_minute as finished
            where finished.minute >= date_trunc('minute', now() - interval '1 minute')
                and finished.queue = stands_still.queue)
        and exists (
            select
            from errand.worker
            cross join lateral (
                select
                    count(*) filter (where existing.queue = stands_still.queue) as jobs,
                    count(*) filter (where existing.queue = stands_still.queue
                        and claimed_at > now() - interval '1 minute') as fresh,
                    count(*) filter (where existing.crashes >= 2) as alone
                from errand.claim
                cross join lateral (
                    select job.queue, job.crashes
                    from errand.job
                    where job.id = any (claim.job_ids) and job.state = 'running' and job.worker_id = worker.id
                    -- So that each is found by its id.
                    offset 0
                ) as existing
                where claim.worker_id = worker.id
            ) as own
            where heartbeat_at + lease > now() and drained_at is null
                and started_at between now() - interval '100 years' and now() - interval '1 minute'
                and own.jobs < queue_slots[array_position(queues, stands_still.queue)]
                and fresh = 0 and alone = 0)
$$;
