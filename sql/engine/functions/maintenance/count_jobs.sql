-- count_jobs: counts the jobs by queue, kind and state, and finds the oldest due one. The percentages say how much of
-- each table is read.
--
-- An application that may enqueue can make up names. Beyond `most` pairs of queue and kind, the smallest are summed up:
-- under their kind and the queue * if the kind is registered, under their queue and the kind * if a worker serves that,
-- else under * and *. Pairs of a queue with workers come first, then those of a registered kind, then the largest.
create or replace function errand_internal.count_jobs(percent real, percent_failed real, most int default 10000)
returns setof errand.job_count
language sql stable set search_path = pg_catalog, errand, pg_temp set jit = off set enable_nestloop = off as $$
    -- Workers with the same queues and kinds count as one.
    with served as materialized (
        select queue, kinds
        from (
            select distinct queues, kinds from errand.worker where heartbeat_at + lease > now() and drained_at is null
        ) as alike
        cross join unnest(queues) as queue
    ),
    counted as materialized (
        select queue, kind, state, count(*) * 100 / percent::numeric as jobs,
            min(run_at) filter (where state = 'available' and isfinite(run_at)) as oldest_due_at
        from errand.job tablesample system (percent)
        group by queue, kind, state
        union all
        select queue, kind, 'failed', count(*) * 100 / percent_failed::numeric, null
        from errand.failed tablesample system (percent_failed)
        group by queue, kind
    ),
    pair as materialized (
        select
            counted.queue, counted.kind, counted.jobs, count(served.queue) > 0 as is_served,
            count(served.queue) = 0 or bool_or(counted.kind = any (served.kinds)) as is_servable,
            bool_or(kind.name is not null) as is_registered
        from (select queue, kind, sum(jobs) as jobs from counted group by queue, kind) as counted
        left join served on served.queue = counted.queue
        left join errand.kind on kind.name = counted.kind
        group by counted.queue, counted.kind, counted.jobs
    ),
    labelled as materialized (
        select
            queue, kind, is_servable,
            case when nth <= most or is_served and not is_registered then queue else '*' end as of_queue,
            case when nth <= most or is_registered then kind else '*' end as of_kind
        from (
            select
                *, row_number() over (
                    order by is_served desc, is_registered desc, jobs desc, queue, kind) as nth
            from pair) as ranked
    )
    select
        round(sum(counted.jobs))::bigint, min(case when is_servable then counted.oldest_due_at end),
        of_queue, of_kind, counted.state
    from counted
    join labelled on labelled.queue = counted.queue and labelled.kind = counted.kind
    group by of_queue, of_kind, counted.state
$$;
