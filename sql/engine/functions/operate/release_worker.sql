-- release_worker: ends a worker's lease and takes its jobs back: they become available at their old position, and their
-- attempt is not counted.
--
--   select * from errand.release_worker(17, reason => 'its host is gone');
--   select * from errand.release_worker(18, reason => 'it hangs', force => true);
--
-- Maintenance finds lost workers within half a minute; this call is for an operator who knows earlier. A live worker
-- is refused unless forced: with its next heartbeat it learns that it holds no jobs, stops them and registers again.
-- Returns the jobs. Raises ER404 for an unknown worker, ER409 for a live one, ER422 without a reason.
-- errand: for ops
-- errand: topic workers
create or replace function errand.release_worker(worker_id bigint, reason text, force boolean default false)
returns table (job_id bigint, queue text, kind text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.worker;
    claimed bigint[];
    released bigint[];
begin
    perform errand_internal.check_reason('release_worker', release_worker.reason);
    select * into existing from errand.worker where id = release_worker.worker_id for update;
    if not found then
        raise exception 'release_worker: worker_id: expected one of errand.workers, got %',
            coalesce(release_worker.worker_id::text, 'null') using errcode = 'ER404';
    elsif existing.heartbeat_at + existing.lease > now() and not coalesce(force, false) then
        raise exception 'release_worker: worker %: expected a lost one, got one with a heartbeat % s ago',
            existing.id, round(extract(epoch from now() - existing.heartbeat_at))
            using errcode = 'ER409', hint = 'Stop the process, or use force => true: its jobs stop and run elsewhere.';
    end if;
    delete from errand.worker where id = existing.id;
    claimed := errand_internal.claimed_by(array[existing.id]);
    -- In the order in which all sessions lock keys and jobs.
    perform
    from errand.job
    where id = any (claimed) and state = 'running' and job.worker_id = existing.id
    order by coalesce(unique_key, waiting_key), id
    for update;
    with back as (
        update errand.job
        set state = 'available', attempt = job.attempt - 1, worker_id = null, is_handed_back = true,
            attempts = errand_internal.attempt_record(job, existing.name, 'released', release_worker.reason)
        where id = any (claimed) and state = 'running' and worker_id = existing.id
        returning id
    )
    select coalesce(array_agg(id order by id), '{}') into released from back;
    perform errand_internal.regain_keys(released);
    perform errand_internal.drop_claims(array[existing.id]);
    perform errand_internal.record_action(
        'release_worker', jsonb_build_object('worker_id', existing.id, 'worker', existing.name), release_worker.reason,
            released);
    perform errand_internal.wake();
    return query
    select id, job.queue, job.kind
    from errand.job
    where id = any (released)
    order by id;
end
$$;
