-- take_stock_v1: counts the jobs by queue, kind and state, and computes what ended lately, for the views of ops.
--
-- A table of up to max_pages pages is counted; of a longer one so many pages are read, picked by chance, and scaled up, so
-- that the cost has a bound: some 200 ms. Nothing is written before all is read: a transaction that writes for long would
-- hold up workers' marks. Where somebody has taken stock within at_least, or within fifty times what it took him, nothing is
-- done: all processes together spend 2 % of a session on it. Answers whether it was done. at_least => '0' does it in any case.
-- errand: after histogram
create or replace function errand.take_stock_v1(
    at_least interval default interval '4 seconds', max_pages int default 20000
) returns boolean
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp set jit = off set max_parallel_workers_per_gather = 0
as $$
declare
    began timestamptz := clock_timestamp();
    percent real := errand.sample_percent('errand.job', max_pages);
    percent_failed real := errand.sample_percent('errand.failed', max_pages);
    stock jsonb;
    pace jsonb;
begin
    -- One at a time is enough; two would do no harm.
    if at_least > interval '0' and exists (
            select
            from errand.duty
            where name = 'stock' and began < done_at + greatest(at_least, took_ms * 49 * interval '1 millisecond'))
        or not errand.try_lock('stock')
    then
        return false;
    end if;
    perform set_config('synchronous_commit', 'off', true);
    select jsonb_agg(counted) into stock
    from (
        select queue, kind, state, round(count(*) * 100 / percent::numeric) as jobs
        from errand.job tablesample system (percent)
        group by queue, kind, state
        union all
        select queue, kind, 'failed', round(count(*) * 100 / percent_failed::numeric)
        from errand.failed tablesample system (percent_failed)
        group by queue, kind
    ) as counted;
    select jsonb_agg(lately) into pace from errand.pace_now() as lately;

    insert into errand.stock as kept (queue, kind, state, jobs)
    select queue, kind, state, jobs
    from jsonb_to_recordset(stock) as fresh(queue text, kind text, state text, jobs bigint)
    on conflict on constraint stock_pkey do update
    set jobs = excluded.jobs
    where kept.jobs <> excluded.jobs;
    delete from errand.stock as kept
    where not exists (
        select from jsonb_to_recordset(stock) as fresh(queue text, kind text, state text)
        where (fresh.queue, fresh.kind, fresh.state) = (kept.queue, kept.kind, kept.state));
    insert into errand.pace
    select fresh.*
    from jsonb_populate_recordset(null::errand.pace, pace) as fresh
    on conflict on constraint pace_pkey do update
    set succeeded = excluded.succeeded, failed = excluded.failed, retried = excluded.retried,
        wait_p50_ms = excluded.wait_p50_ms, wait_p95_ms = excluded.wait_p95_ms, wait_p99_ms = excluded.wait_p99_ms,
        run_p50_ms = excluded.run_p50_ms, run_p95_ms = excluded.run_p95_ms, run_p99_ms = excluded.run_p99_ms;
    delete from errand.pace as kept
    where not exists (
        select from jsonb_populate_recordset(null::errand.pace, pace) as fresh
        where (fresh.subject, fresh.name, fresh.span) = (kept.subject, kept.name, kept.span));
    perform errand.merge_finished();
    perform errand.note_duty(
        'stock', began, case when percent < 100 then format('estimated from %s %% of the table', round(percent::numeric, 1)) end);
    return true;
end
$$;
comment on function errand.take_stock_v1(interval, int) is
    'Housekeeping: counts or estimates the jobs, and computes what ended lately, for the views of ops';

-- sample_percent: how much of a table to read so that it is max_pages pages at most.
create or replace function errand.sample_percent(of_table regclass, max_pages int) returns real
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select least(
        100, 100.0 * max_pages * current_setting('block_size')::int / greatest(pg_relation_size(of_table), 1))::real
$$;
comment on function errand.sample_percent(regclass, int) is
    'Housekeeping: how many percent of a table to read, so that it is max_pages pages at most';

-- pace_now: what ended within the last 5 minutes and hour and how long it took, by queue and by kind.
--
-- The planner can't know how many groups the aggregates make. It would join them by nested loops: 400 s at 5,000
-- queues.
create or replace function errand.pace_now() returns setof errand.pace
language sql stable set search_path = pg_catalog, errand, pg_temp set enable_nestloop = off set work_mem = '16MB' as $$
    with recent as materialized (
        select queue, kind, outcome, minute > now() - interval '5 minutes' as is_fresh, jobs, wait_histogram, run_histogram
        from errand.finished_per_minute
        where minute > now() - interval '1 hour'
    ),
    span(span, is_fresh) as (
        values (interval '5 minutes', true), (interval '1 hour', true), (interval '1 hour', false)
    ),
    ended as (
        select by.subject, by.name, span.span,
            coalesce(sum(jobs) filter (where outcome = 'succeeded'), 0)::bigint as succeeded,
            coalesce(sum(jobs) filter (where outcome = 'failed'), 0)::bigint as failed,
            coalesce(sum(jobs) filter (where outcome = 'retried'), 0)::bigint as retried
        from recent
        cross join lateral (values ('queue', queue), ('kind', kind)) as by(subject, name)
        join span using (is_fresh)
        group by by.subject, by.name, span.span
    ),
    -- Bucket by bucket first, so that the rest is small.
    bucket as materialized (
        select queue, kind, is_fresh, what, place, sum(n) as n
        from recent
        cross join lateral (
            values ('wait', wait_histogram), ('run', case when outcome <> 'released' then run_histogram end)
        ) as times(what, histogram)
        cross join lateral unnest(histogram) with ordinality as entry(n, place)
        group by queue, kind, is_fresh, what, place
    ),
    summed as (
        select by.subject, by.name, span.span, what, place, sum(n)::float8 as n
        from bucket
        cross join lateral (values ('queue', queue), ('kind', kind)) as by(subject, name)
        join span using (is_fresh)
        group by by.subject, by.name, span.span, what, place
        having sum(n) > 0
    ),
    -- A bucket's bounds in ms: the first is below 1 ms, each next one ends at sqrt(2) times the one before.
    cumulated as (
        select
            subject, name, span, what, n, sum(n) over by_place as upto,
            sum(n) over (partition by subject, name, span, what) as whole,
            case when place = 1 then 0 else power(2, (place - 2) / 2::float8) end as low, power(2, (place - 1) / 2::float8) as high
        from summed
        window by_place as (partition by subject, name, span, what order by place)
    ),
    -- The first bucket that reaches the share has it, interpolated; all later ones begin at or above its end.
    percentile as (
        select
            subject, name, span, what, share,
            round(min(low + (high - low) * greatest(0, share * whole - (upto - n)) / n)::numeric, 2) as ms
        from cumulated
        cross join (values (0.5::float8), (0.95), (0.99)) as wanted(share)
        where upto >= share * whole
        group by subject, name, span, what, share
    ),
    times as (
        select
            subject, name, span,
            max(ms) filter (where what = 'wait' and share = 0.5) as wait_p50,
            max(ms) filter (where what = 'wait' and share = 0.95) as wait_p95,
            max(ms) filter (where what = 'wait' and share = 0.99) as wait_p99,
            max(ms) filter (where what = 'run' and share = 0.5) as run_p50,
            max(ms) filter (where what = 'run' and share = 0.95) as run_p95,
            max(ms) filter (where what = 'run' and share = 0.99) as run_p99
        from percentile
        group by subject, name, span
    )
    select
        ended.span, ended.succeeded, ended.failed, ended.retried, times.wait_p50, times.wait_p95, times.wait_p99,
        times.run_p50, times.run_p95, times.run_p99, ended.subject, ended.name
    from ended
    left join times on (times.subject, times.name, times.span) = (ended.subject, ended.name, ended.span)
$$;
comment on function errand.pace_now() is
    'Housekeeping: what ended within the last 5 minutes and hour and how long it took, by queue and by kind';

-- merge_finished: adds up all workers' counts of minutes that are over, and carries them to the totals.
create or replace function errand.merge_finished() returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    with own as (
        delete from errand.finished_per_minute
        where worker_id <> 0 and minute < date_trunc('minute', now()) - interval '1 minute'
        returning *
    ),
    merged as (
        insert into errand.finished_per_minute as kept (
            minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms, wait_histogram, run_histogram)
        select minute, 0, queue, kind, outcome, sum(jobs), sum(wait_ms), sum(run_ms),
            errand.sum_histograms(wait_histogram), errand.sum_histograms(run_histogram)
        from own
        group by minute, queue, kind, outcome
        on conflict on constraint finished_per_minute_pkey do update
        set jobs = kept.jobs + excluded.jobs, wait_ms = kept.wait_ms + excluded.wait_ms,
            run_ms = kept.run_ms + excluded.run_ms,
            wait_histogram = errand.add_histograms(kept.wait_histogram, excluded.wait_histogram),
            run_histogram = errand.add_histograms(kept.run_histogram, excluded.run_histogram)
    )
    insert into errand.finished_total as kept (queue, kind, outcome, jobs, wait_ms, run_ms, last_minute)
    select queue, kind, outcome, sum(jobs), sum(wait_ms), sum(run_ms), max(minute)
    from own
    group by queue, kind, outcome
    on conflict on constraint finished_total_pkey do update
    set jobs = kept.jobs + excluded.jobs, wait_ms = kept.wait_ms + excluded.wait_ms,
        run_ms = kept.run_ms + excluded.run_ms, last_minute = greatest(kept.last_minute, excluded.last_minute)
$$;
comment on function errand.merge_finished() is
    'Housekeeping: adds up all workers'' counts of minutes that are over, and carries them to the totals';
