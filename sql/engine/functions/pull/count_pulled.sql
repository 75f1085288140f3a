-- count_pulled: counts the attempts of pulled jobs, without those in left_out, in errand.finished_per_minute; those of
-- jobs in failed as failed. A worker of Errand's program counts its own once a second; one that pulls need not count.
--
-- The rows carry the session's process id as a negative worker_id, so that no other transaction writes them: no
-- completion waits for the commit of another.
create or replace function errand_internal.count_pulled(
    ids bigint[], queues text[], kinds text[], outcomes text[], failed bigint[], due timestamptz[],
    starts timestamptz[], left_out bigint[]
) returns void
-- Not in SQL: that would be planned in each call.
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    insert into errand.finished_per_minute as existing (
        minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms, wait_histogram, run_histogram)
    select
        date_trunc('minute', now()), -pg_backend_pid(), queue, kind,
        case when id = any (failed) then 'failed' else outcome end,
        count(*), sum(wait_ms), sum(run_ms), errand_internal.histogram_of(array_agg(wait_ms)),
        errand_internal.histogram_of(array_agg(run_ms))
    from unnest(ids, queues, kinds, outcomes, due, starts)
        as ended(id, queue, kind, outcome, due, start)
    cross join lateral (
        select
            greatest(extract(epoch from start - due) * 1000, 0)::bigint as wait_ms,
            greatest(extract(epoch from clock_timestamp() - start) * 1000, 0)::bigint as run_ms
    ) as took
    where id <> all (left_out)
    group by 3, 4, 5
    order by 3, 4, 5
    on conflict on constraint finished_per_minute_pkey do update
    set jobs = existing.jobs + excluded.jobs, wait_ms = existing.wait_ms + excluded.wait_ms,
        run_ms = existing.run_ms + excluded.run_ms,
        wait_histogram = errand_internal.add_histograms(existing.wait_histogram, excluded.wait_histogram),
        run_histogram = errand_internal.add_histograms(existing.run_histogram, excluded.run_histogram);
end
$$;
