-- compute_throughput: returns rates and times of the completions of the last 5 minutes and the last hour, by queue and
-- by kind.
--
-- Histograms are summed by bucket, in as many columns as there are buckets: unnested and sorted they would be millions
-- of rows. The planner can't know how many groups there are, and would join them by nested loops: 400 s at 5,000
-- queues. An hour of 5,000 queues takes 1.2 s, the percentiles 0.3 of them.
-- errand: after percentiles
create or replace function errand_internal.compute_throughput() returns setof errand.throughput
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
            from (
                -- Unpacked once, and not for each of its buckets: a quarter of the time.
                select
                    minute, queue, kind, outcome, jobs, wait_histogram || '{}' as wait_histogram,
                    run_histogram || '{}' as run_histogram
                from errand.finished_per_minute
                where minute between now() - interval '1 hour' and now()
                offset 0
            ) as counted
            group by queue, kind, is_fresh
        ),
        ended as materialized (
            select
                by.subject, by.name, span.span, coalesce(sum(succeeded), 0)::bigint as succeeded,
                coalesce(sum(failed), 0)::bigint as failed, coalesce(sum(retried), 0)::bigint as retried,
                errand_internal.percentiles(array[%3$s]::bigint[], '{0.5, 0.95, 0.99}') as wait,
                errand_internal.percentiles(array[%4$s]::bigint[], '{0.5, 0.95, 0.99}') as run
            from both_names
            cross join lateral (values ('queue', queue), ('kind', kind)) as by(subject, name)
            join span using (is_fresh)
            group by by.subject, by.name, span.span
        )
        select
            span, succeeded, failed, retried, wait[1], wait[2], wait[3], run[1], run[2], run[3], subject, name
        from ended
        $query$,
        format(sums, 'wait_histogram', ''), format(sums, 'run_histogram', ' filter (where outcome <> ''released'')'),
        format(sums, 'wait', ''), format(sums, 'run', ''));
end
$$;
