-- kind_times: what ran within a time, by kind: how many attempts ended how, and how long they waited and ran.
--
--   select * from errand.kind_times('2026-11-22 02:00Z', '2026-11-22 04:00Z');
--
-- It reads the counts by minute, which stay for a week, so whole minutes count. Its cost depends on the number of
-- minutes and kinds, not of jobs. Percentiles are interpolated in a histogram with steps of 1.4.
create or replace function errand.kind_times(since timestamptz, until timestamptz default now())
returns table (
    kind text, succeeded bigint, failed bigint, retried bigint, cancelled bigint, wait_p95_ms double precision,
    run_p50_ms double precision, run_p95_ms double precision
)
language sql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
    with counted as materialized (
        select kind, outcome, jobs, wait_histogram, run_histogram
        from errand.finished_per_minute
        where minute >= date_trunc('minute', kind_times.since) and minute < kind_times.until
    ),
    summed as (
        select kind, is_wait, index, sum(n)::float8 as n
        from counted
        cross join lateral (values (true, wait_histogram), (false, run_histogram)) as times(is_wait, histogram)
        cross join lateral unnest(histogram) with ordinality as entry(n, index)
        where n > 0 and (is_wait or outcome <> 'released')
        group by kind, is_wait, index
    ),
    -- A bucket's bounds in ms: the first ends at 1 ms, and each next one at sqrt(2) times the end of the one before.
    cumulated as (
        select
            kind, is_wait, n, sum(n) over by_index as upto, sum(n) over (partition by kind, is_wait) as whole,
            case when index = 1 then 0 else power(2, (index - 2) / 2::float8) end as low,
            power(2, (index - 1) / 2::float8) as high
        from summed
        window by_index as (partition by kind, is_wait order by index)
    ),
    percentile as (
        select
            kind, is_wait, share,
            round(min(low + (high - low) * greatest(0, share * whole - (upto - n)) / n)::numeric, 2)::float8 as ms
        from cumulated
        cross join (values (0.5::float8), (0.95)) as wanted(share)
        where upto >= share * whole
        group by kind, is_wait, share
    ),
    times as (
        select
            kind,
            max(ms) filter (where is_wait and share = 0.95) as wait_p95,
            max(ms) filter (where not is_wait and share = 0.5) as run_p50,
            max(ms) filter (where not is_wait and share = 0.95) as run_p95
        from percentile
        group by kind
    )
    select
        ended.kind, ended.succeeded, ended.failed, ended.retried, ended.cancelled, times.wait_p95, times.run_p50,
        times.run_p95
    from (
        select
            kind,
            coalesce(sum(jobs) filter (where outcome = 'succeeded'), 0)::bigint as succeeded,
            coalesce(sum(jobs) filter (where outcome = 'failed'), 0)::bigint as failed,
            coalesce(sum(jobs) filter (where outcome = 'retried'), 0)::bigint as retried,
            coalesce(sum(jobs) filter (where outcome = 'cancelled'), 0)::bigint as cancelled
        from counted
        group by kind
    ) as ended
    left join times using (kind)
    order by ended.failed desc, ended.kind
$$;
comment on function errand.kind_times(timestamptz, timestamptz) is
    'Returns what ran within a time, by kind: outcomes, and how long they waited and ran. Example: select * from '
    'errand.kind_times(now() - interval ''1 hour'')';
