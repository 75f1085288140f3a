-- explain_running: for errand.explain: where a job runs, and whether its worker is lost.
create or replace function errand_internal.explain_running(
    job errand.job
) returns table (code text, detail text, hint text)
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select
        case when worker.heartbeat_at + worker.lease > now() then 'running' else 'worker_lost' end,
        format(
            'attempt %s of %s runs since %s%s on worker %s%s', job.attempt, job.max_attempts, job.started_at,
            case when isfinite(job.started_at)
                then format(' (%s s)', round(extract(epoch from now() - job.started_at))) end, job.worker_id,
            case
                when worker.id is null then ', which has no lease any more'
                when worker.heartbeat_at + worker.lease > now() then ' (' || worker.name || ')'
                else format(
                    ' (%s), whose last heartbeat is %s s ago', worker.name,
                    round(extract(epoch from now() - worker.heartbeat_at)))
            end) || case
                when job.waiting_key is not null and job.unique_key is null
                    then format('; its unique key %s is free for a new job', quote_literal(job.waiting_key))
                else ''
            end,
        case
            when worker.id is null or worker.heartbeat_at + worker.lease <= now()
                then 'Maintenance of any worker or scheduler rescues it within 5 minutes; does one run?'
            when job.started_at < now() - interval '15 minutes'
                then format('select * from errand.cancel_job(%s, ''…'')', job.id)
        end
    from (select) as one
    left join errand.worker on worker.id = job.worker_id
$$;
