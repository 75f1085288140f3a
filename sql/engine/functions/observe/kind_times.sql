-- kind_times: what ran within a time, by kind: how many attempts ended how, and how long they waited and ran.
--
--   select * from errand.kind_times('2026-11-22 02:00Z', '2026-11-22 04:00Z');
--
-- It reads the counts by minute, which stay for a week, so whole minutes count. Its cost depends on the number of
-- minutes and kinds, not of jobs. Percentiles are interpolated in a histogram with steps of 1.4.
--
-- Histograms are summed by bucket, in as many columns as there are buckets: unnested they take three times as long.
-- errand: after percentiles
-- errand: for ops, monitor
-- errand: topic rates
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
                errand_internal.percentiles(array[%1$s]::bigint[], '{0.95}') as wait,
                errand_internal.percentiles(array[%2$s]::bigint[], '{0.5, 0.95}') as run
            from errand.finished_per_minute
            where minute >= date_trunc('minute', $1) and minute < $2
            group by kind
        )
        select kind, succeeded, failed, retried, cancelled, wait[1], run[1], run[2]
        from ended
        order by failed desc, kind
    $query$, waits, runs) using since, until;
end
$$;
