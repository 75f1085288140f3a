-- unlisted_jobs_v1: for workers: returns the jobs that run under a worker's id and that its list of all that it holds
-- does not name: it would never complete them.
--
-- The list has claimed jobs, begun or not, and ended ones whose outcomes are not written. It covers the claims of
-- generations before before_generation. Those of the last 30 s are not judged: they may be under way. A job that the
-- last call returned with the same position (known) is taken back: it becomes available at a new position, so that a
-- late outcome changes nothing, and neither an attempt nor a crash is counted. errand.health tells of it for an hour.
--
-- Raises 55P03 if errand.job is locked for longer than half a second, because a heartbeat waits for this call.
create or replace function errand_internal.unlisted_jobs_v1(
    worker_id bigint, before_generation int, job_ids bigint[], positions bigint[], known bigint[]
) returns table (job_id bigint, queue_position bigint, is_taken_back boolean)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set lock_timeout = '500ms'
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    name constant text := (select worker.name from errand.worker where id = unlisted_jobs_v1.worker_id);
    existing errand.job;
    taken bigint[] := '{}';
begin
    for existing in
        select job.*
        from (
            select distinct id
            from errand.claim
            cross join lateral unnest(claim.job_ids) as id
            where claim.worker_id = unlisted_jobs_v1.worker_id and generation < before_generation
                and claimed_at < now() - interval '30 seconds'
        ) as old
        cross join lateral (select * from errand.job where job.id = old.id offset 0) as job
        where job.state = 'running' and job.worker_id = unlisted_jobs_v1.worker_id
            and (job.id, job.queue_position) not in (select * from unnest(job_ids, positions))
            -- A job that was handed back keeps its position, and may have been claimed once more.
            and not exists (
                select
                from errand.claim as newer
                where newer.worker_id = unlisted_jobs_v1.worker_id and job.id = any (newer.job_ids)
                    and (generation >= before_generation or claimed_at >= now() - interval '30 seconds'))
        order by coalesce(job.unique_key, job.waiting_key), job.id
    loop
        job_id := existing.id;
        queue_position := existing.queue_position;
        is_taken_back := false;
        if existing.queue_position = any (known) then
            perform
            from errand.job
            where id = existing.id and state = 'running' and coalesce(job.queue_position, 0) = existing.queue_position
            for update skip locked;
            if found then
                update errand.job
                set state = 'available', attempt = existing.attempt - 1,
                    attempts = errand_internal.attempt_record(existing, name, 'released', 'its worker held it no more')
                where id = existing.id;
                if existing.waiting_key is not null then
                    perform errand_internal.regain_keys(array[existing.id]);
                end if;
                taken := taken || existing.id;
                is_taken_back := true;
            end if;
        end if;
        return next;
    end loop;
    if taken <> '{}' then
        perform errand_internal.record_action(
            'take_back', jsonb_build_object('worker_id', unlisted_jobs_v1.worker_id, 'worker', name),
            'its worker held it no more', taken);
        perform errand_internal.wake();
    end if;
end
$$;
