-- take_stock_v1: counts the jobs by queue, kind and state, and computes what ended lately, for the views of ops.
--
-- A table of up to max_pages pages is counted; of a longer one so many pages are read, picked by chance, and scaled up,
-- so that the cost has a bound: some 200 ms. Nothing is written before all is read: a transaction that writes for long
-- would hold up workers' marks. Where somebody has taken stock within at_least, or within fifty times what it took him,
-- nothing is done: all processes together spend 2 % of a session on it. Returns whether it was done. at_least => '0'
-- does it in any case.
-- errand: after histogram, count_lost
create or replace function errand.take_stock_v1(
    at_least interval default interval '4 seconds', max_pages int default 20000
) returns boolean
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp set jit = off set max_parallel_workers_per_gather = 0
-- The planner can't know how long the arrays are.
set enable_nestloop = off
as $$
declare
    began timestamptz := clock_timestamp();
    percent real := errand.sample_percent('errand.job', max_pages);
    percent_failed real := errand.sample_percent('errand.failed', max_pages);
    stock errand.stock[];
    pace errand.pace[];
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
    stock := array(
        select row(counted.jobs, counted.oldest_due_at, counted.queue, counted.kind, counted.state)::errand.stock
        from errand.stock_now(percent, percent_failed) as counted);
    pace := array(select lately from errand.pace_now() as lately);

    insert into errand.stock as kept
    select fresh.* from unnest(stock) as fresh
    on conflict on constraint stock_pkey do update
    set jobs = excluded.jobs, oldest_due_at = excluded.oldest_due_at
    where (kept.jobs, kept.oldest_due_at) is distinct from (excluded.jobs, excluded.oldest_due_at);
    delete from errand.stock as kept
    where not exists (
        select
        from unnest(stock) as fresh
        where (fresh.queue, fresh.kind, fresh.state) = (kept.queue, kept.kind, kept.state));
    insert into errand.pace as kept
    select fresh.* from unnest(pace) as fresh
    on conflict on constraint pace_pkey do update
    set succeeded = excluded.succeeded, failed = excluded.failed, retried = excluded.retried,
        wait_p50_ms = excluded.wait_p50_ms, wait_p95_ms = excluded.wait_p95_ms, wait_p99_ms = excluded.wait_p99_ms,
        run_p50_ms = excluded.run_p50_ms, run_p95_ms = excluded.run_p95_ms, run_p99_ms = excluded.run_p99_ms
    where (kept.*) is distinct from (excluded.*);
    delete from errand.pace as kept
    where not exists (
        select
        from unnest(pace) as fresh
        where (fresh.subject, fresh.name, fresh.span) = (kept.subject, kept.name, kept.span));
    perform errand.count_lost();
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

-- stock_now: counts the jobs by queue, kind and state, and finds the oldest due one; percent says how much of each
-- table is read.
create or replace function errand.stock_now(percent real, percent_failed real) returns setof errand.stock
language sql stable set search_path = pg_catalog, errand, pg_temp set enable_nestloop = off as $$
    with served as (
        select queue, array_agg(distinct kind) as kinds
        from errand.worker
        cross join unnest(queues) as queue
        left join unnest(kinds) as kind on true
        where beat_at + lease > now()
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
comment on function errand.stock_now(real, real) is
    'Housekeeping: counts the jobs by queue, kind and state, and finds the oldest due one, in so much of the tables';

-- pace_now: what ended within the last 5 minutes and hour and how long it took, by queue and by kind.
--
-- Histograms are summed place by place, in as many columns as they have buckets: unnested and sorted they would be
-- millions of rows. The planner can't know how many groups there are: it would join them by nested loops, 400 s at
-- 5,000 queues.
create or replace function errand.pace_now() returns setof errand.pace
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp set enable_nestloop = off set enable_sort = off set work_mem = '64MB'
as $$
declare
    buckets int := (
        select greatest(1, max(cardinality(wait_histogram)), max(cardinality(run_histogram)))
        from errand.finished_per_minute
        where minute > now() - interval '1 hour');
    sums text := (select string_agg(format('sum(%%1$s[%s])%%2$s', place), ', ') from generate_series(1, buckets) as place);
begin
    return query execute format($query$
        with span(span, is_fresh) as (
            values (interval '5 minutes', true), (interval '1 hour', true), (interval '1 hour', false)
        ),
        both_names as materialized (
            select
                queue, kind, minute > now() - interval '5 minutes' as is_fresh,
                sum(jobs) filter (where outcome = 'succeeded') as succeeded,
                sum(jobs) filter (where outcome = 'failed') as failed,
                sum(jobs) filter (where outcome = 'retried') as retried,
                array[%1$s] as wait, array[%2$s] as run
            from errand.finished_per_minute
            where minute > now() - interval '1 hour'
            group by queue, kind, is_fresh
        ),
        ended as materialized (
            select
                row_number() over () as id, by.subject, by.name, span.span, coalesce(sum(succeeded), 0)::bigint as succeeded,
                coalesce(sum(failed), 0)::bigint as failed, coalesce(sum(retried), 0)::bigint as retried,
                array[%3$s] as wait, array[%4$s] as run
            from both_names
            cross join lateral (values ('queue', queue), ('kind', kind)) as by(subject, name)
            join span using (is_fresh)
            group by by.subject, by.name, span.span
        ),
        -- A bucket's bounds in ms: the first is below 1 ms, each next one ends at sqrt(2) times the one before.
        cumulated as (
            select
                id, is_wait, n::float8 as n, (sum(n) over by_place)::float8 as upto,
                (sum(n) over (partition by id, is_wait))::float8 as whole,
                case when place = 1 then 0 else power(2, (place - 2) / 2::float8) end as low,
                power(2, (place - 1) / 2::float8) as high
            from ended
            cross join lateral (values (true, wait), (false, run)) as times(is_wait, histogram)
            cross join lateral unnest(histogram) with ordinality as entry(n, place)
            where n > 0
            window by_place as (partition by id, is_wait order by place)
        ),
        -- The first bucket that reaches the share has it, interpolated; all later ones begin at or above its end.
        percentile as (
            select
                id, is_wait, share,
                round(min(low + (high - low) * greatest(0, share * whole - (upto - n)) / n)::numeric, 2)::float8 as ms
            from cumulated
            cross join (values (0.5::float8), (0.95), (0.99)) as wanted(share)
            where upto >= share * whole
            group by id, is_wait, share
        ),
        times as (
            select
                id,
                max(ms) filter (where is_wait and share = 0.5) as wait_p50,
                max(ms) filter (where is_wait and share = 0.95) as wait_p95,
                max(ms) filter (where is_wait and share = 0.99) as wait_p99,
                max(ms) filter (where not is_wait and share = 0.5) as run_p50,
                max(ms) filter (where not is_wait and share = 0.95) as run_p95,
                max(ms) filter (where not is_wait and share = 0.99) as run_p99
            from percentile
            group by id
        )
        select
            ended.span, ended.succeeded, ended.failed, ended.retried, times.wait_p50, times.wait_p95, times.wait_p99,
            times.run_p50, times.run_p95, times.run_p99, ended.subject, ended.name
        from ended
        left join times on times.id = ended.id
        $query$,
        format(sums, 'wait_histogram', ''), format(sums, 'run_histogram', ' filter (where outcome <> ''released'')'),
        format(sums, 'wait', ''), format(sums, 'run', ''));
end
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
