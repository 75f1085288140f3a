-- count_jobs: counts the jobs by queue, kind and state, and finds the oldest due one. The percentages say how much of
-- each table is read.
create or replace function errand.count_jobs(percent real, percent_failed real) returns setof errand.job_count
language sql stable set search_path = pg_catalog, errand, pg_temp set jit = off set enable_nestloop = off as $$
    with served as (
        select queue, array_agg(distinct kind) as kinds
        from errand.worker
        cross join unnest(queues) as queue
        left join unnest(kinds) as kind on true
        where heartbeat_at + lease > now() and drained_at is null
        group by queue
    ),
    counted as (
        select queue, kind, state, count(*) * 100 / percent::numeric as jobs,
            min(run_at) filter (where state = 'available' and isfinite(run_at)) as oldest_due_at
        from errand.job tablesample system (percent)
        group by queue, kind, state
        union all
        select queue, kind, 'failed', count(*) * 100 / percent_failed::numeric, null
        from errand.failed tablesample system (percent_failed)
        group by queue, kind
    )
    select
        round(counted.jobs)::bigint,
        case when served.queue is null or counted.kind = any (served.kinds) then counted.oldest_due_at end,
        counted.queue, counted.kind, counted.state
    from counted
    left join served on served.queue = counted.queue
$$;
comment on function errand.count_jobs(real, real) is
    'Housekeeping: counts the jobs by queue, kind and state, and finds the oldest due one, in samples of the tables';
