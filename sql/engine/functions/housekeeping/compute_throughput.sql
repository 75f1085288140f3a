-- compute_throughput: returns rates and times of the completions of the last 5 minutes and the last hour, by queue and
-- by kind.
--
-- Histograms are summed by bucket, in as many columns as there are buckets: unnested and sorted they would be millions
-- of rows. The planner can't know how many groups there are, and would join them by nested loops: 400 s at 5,000
-- queues.
create or replace function errand.compute_throughput() returns setof errand.throughput
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_nestloop = off set enable_sort = off set work_mem = '64MB'
as $$
declare
    buckets int := (
        select greatest(1, max(cardinality(wait_histogram)), max(cardinality(run_histogram)))
        from errand.finished_per_minute
        where minute between now() - interval '1 hour' and now());
    sums text := (select string_agg(format('sum(%%1$s[%s])%%2$s', index), ', ')
        from generate_series(1, buckets) as index);
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
            where minute between now() - interval '1 hour' and now()
            group by queue, kind, is_fresh
        ),
        ended as materialized (
            select
                row_number() over () as id, by.subject, by.name, span.span,
                coalesce(sum(succeeded), 0)::bigint as succeeded, coalesce(sum(failed), 0)::bigint as failed,
                coalesce(sum(retried), 0)::bigint as retried,
                array[%3$s] as wait, array[%4$s] as run
            from both_names
            cross join lateral (values ('queue', queue), ('kind', kind)) as by(subject, name)
            join span using (is_fresh)
            group by by.subject, by.name, span.span
        ),
        -- A bucket's bounds in ms: the first ends at 1 ms, and each next one at sqrt(2) times the end of the one
        -- before.
        cumulated as (
            select
                id, is_wait, n::float8 as n, (sum(n) over by_index)::float8 as upto,
                (sum(n) over (partition by id, is_wait))::float8 as whole,
                case when index = 1 then 0 else power(2, (index - 2) / 2::float8) end as low,
                power(2, (index - 1) / 2::float8) as high
            from ended
            cross join lateral (values (true, wait), (false, run)) as times(is_wait, histogram)
            cross join lateral unnest(histogram) with ordinality as entry(n, index)
            where n > 0
            window by_index as (partition by id, is_wait order by index)
        ),
        -- The first bucket that reaches the share has it, interpolated. All later ones begin at or above its end.
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
comment on function errand.compute_throughput() is
    'Housekeeping: returns rates and times of the latest completions, by queue and by kind';
