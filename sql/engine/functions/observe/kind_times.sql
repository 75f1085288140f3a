-- kind_times: what ran within a time, by kind: how many attempts ended how, and how long they waited and ran.
--
--   select * from errand.kind_times('2026-11-22 02:00Z', '2026-11-22 04:00Z');
--
-- It reads the counts by minute, which stay for a week, so whole minutes count. Its cost depends on the number of
-- minutes and kinds, not of jobs. Percentiles are interpolated in a histogram with steps of 1.4.
--
-- Histograms are summed by bucket, in as many columns as there are buckets: unnested they take three times as long.
-- errand.compute_throughput computes its percentiles in the same way. A function of one histogram takes 0.1 ms a call,
-- which is 3 s there at 5,000 queues.
create or replace function errand.kind_times(since timestamptz, until timestamptz default now())
returns table (
    kind text, succeeded bigint, failed bigint, retried bigint, cancelled bigint, wait_p95_ms double precision,
    run_p50_ms double precision, run_p95_ms double precision
)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
declare
    buckets int := (
        select greatest(1, max(cardinality(wait_histogram)), max(cardinality(run_histogram)))
        from errand.finished_per_minute
        where minute >= date_trunc('minute', kind_times.since) and minute < kind_times.until);
    waits text := (
        select string_agg(format('sum(wait_histogram[%s])', index), ', ') from generate_series(1, buckets) as index);
    runs text := (
        select string_agg(format('sum(run_histogram[%s]) filter (where outcome <> ''released'')', index), ', ')
        from generate_series(1, buckets) as index);
begin
    return query execute format($query$
        with ended as materialized (
            select
                kind,
                coalesce(sum(jobs) filter (where outcome = 'succeeded'), 0)::bigint as succeeded,
                coalesce(sum(jobs) filter (where outcome = 'failed'), 0)::bigint as failed,
                coalesce(sum(jobs) filter (where outcome = 'retried'), 0)::bigint as retried,
                coalesce(sum(jobs) filter (where outcome = 'cancelled'), 0)::bigint as cancelled,
                array[%1$s]::float8[] as wait, array[%2$s]::float8[] as run
            from errand.finished_per_minute
            where minute >= date_trunc('minute', $1) and minute < $2
            group by kind
        ),
        -- A bucket's bounds in ms: the first ends at 1 ms, and each next one at sqrt(2) times the end of the one
        -- before.
        cumulated as (
            select
                kind, is_wait, n, sum(n) over by_index as upto, sum(n) over (partition by kind, is_wait) as whole,
                case when index = 1 then 0 else power(2, (index - 2) / 2::float8) end as low,
                power(2, (index - 1) / 2::float8) as high
            from ended
            cross join lateral (values (true, wait), (false, run)) as times(is_wait, histogram)
            cross join lateral unnest(histogram) with ordinality as entry(n, index)
            where n > 0
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
        from ended
        left join times using (kind)
        order by ended.failed desc, ended.kind
    $query$, waits, runs) using since, until;
end
$$;
comment on function errand.kind_times(timestamptz, timestamptz) is
    'Returns what ran within a time, by kind: outcomes, and how long they waited and ran. Example: select * from '
    'errand.kind_times(now() - interval ''1 hour'')';
