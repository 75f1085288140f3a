-- release_worker: takes back what a worker holds, and ends its lease: the jobs go back to their place in line, their
-- attempt uncounted.
--
--   select * from errand.release_worker(17, reason => 'its host is gone');
--   select * from errand.release_worker(18, reason => 'it hangs', force => true);
--
-- Lost workers are found by themselves within half a minute; this is for those that ops know better. A worker that
-- still beats is refused unless forced: it then learns with its next beat that it holds nothing, stops those jobs and
-- enters itself anew. Returns the jobs. Raises ER404 where there is no such worker, ER409 where it is alive, ER422
-- without a reason.
create or replace function errand.release_worker(worker_id bigint, reason text, force boolean default false)
returns table (job_id bigint, queue text, kind text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    known errand.worker;
    claimed bigint[];
    released bigint[];
begin
    perform errand.check_reason('release_worker', release_worker.reason);
    select * into known from errand.worker where id = release_worker.worker_id for update;
    if not found then
        raise exception 'release_worker: worker_id: expected one of errand.worker_status, got %',
            coalesce(release_worker.worker_id::text, 'null') using errcode = 'ER404';
    elsif known.heartbeat_at + known.lease > now() and not coalesce(force, false) then
        raise exception 'release_worker: worker %: expected one that is lost, got one that was heard % s ago',
            known.id, round(extract(epoch from now() - known.heartbeat_at))
            using errcode = 'ER409', hint = 'Stop the process; or force => true: its jobs are stopped and run elsewhere.';
    end if;
    delete from errand.worker where id = known.id;
    claimed := errand.claimed_by(array[known.id]);
    -- In the order in which everybody locks keys and jobs.
    perform
    from errand.job
    where id = any (claimed) and state = 'running' and job.worker_id = known.id
    order by unique_key, id
    for update;
    with back as (
        update errand.job
        set state = 'available', attempt = job.attempt - 1, worker_id = null, is_handed_back = true,
            attempts = errand.attempt_record(job, known.name, 'released', release_worker.reason)
        where id = any (claimed) and state = 'running' and worker_id = known.id
        returning id
    )
    select coalesce(array_agg(id order by id), '{}') into released from back;
    perform errand.drop_claims(array[known.id]);
    perform errand.record_action(
        'release_worker', jsonb_build_object('worker_id', known.id, 'worker', known.name), release_worker.reason, released);
    perform errand.wake();
    return query
    select id, job.queue, job.kind
    from errand.job
    where id = any (released)
    order by id;
end
$$;
comment on function errand.release_worker(bigint, text, boolean) is
    'Takes back what a worker holds and ends its lease. Example: select * from errand.release_worker(17, ''its host is gone'')';
