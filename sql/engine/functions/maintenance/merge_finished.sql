-- merge_finished: merges the workers' counts of past minutes into one, and adds them to the totals. Rows that a session
-- has locked are left for the next run: errand.done may be part of a long transaction.
-- errand: after add_histograms, sum_histograms
create or replace function errand_internal.merge_finished() returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    with own as (
        delete from errand.finished_per_minute
        where ctid = any (array(
            select counted.ctid
            from errand.finished_per_minute as counted
            where counted.worker_id <> 0 and counted.minute < date_trunc('minute', now()) - interval '1 minute'
            for update skip locked))
        returning *
    ),
    merged as (
        insert into errand.finished_per_minute as existing (
            minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms, wait_histogram, run_histogram)
        select minute, 0, queue, kind, outcome, sum(jobs), sum(wait_ms), sum(run_ms),
            errand_internal.sum_histograms(wait_histogram), errand_internal.sum_histograms(run_histogram)
        from own
        group by minute, queue, kind, outcome
        on conflict on constraint finished_per_minute_pkey do update
        set jobs = existing.jobs + excluded.jobs, wait_ms = existing.wait_ms + excluded.wait_ms,
            run_ms = existing.run_ms + excluded.run_ms,
            wait_histogram = errand_internal.add_histograms(existing.wait_histogram, excluded.wait_histogram),
            run_histogram = errand_internal.add_histograms(existing.run_histogram, excluded.run_histogram)
    )
    insert into errand.finished_total as existing (
        queue, kind, outcome, jobs, wait_ms, run_ms, last_minute, wait_histogram, run_histogram)
    select queue, kind, outcome, sum(jobs), sum(wait_ms), sum(run_ms), max(minute),
        errand_internal.sum_histograms(wait_histogram), errand_internal.sum_histograms(run_histogram)
    from own
    group by queue, kind, outcome
    on conflict on constraint finished_total_pkey do update
    set jobs = existing.jobs + excluded.jobs, wait_ms = existing.wait_ms + excluded.wait_ms,
        run_ms = existing.run_ms + excluded.run_ms, last_minute = greatest(existing.last_minute, excluded.last_minute),
        wait_histogram = errand_internal.add_histograms(existing.wait_histogram, excluded.wait_histogram),
        run_histogram = errand_internal.add_histograms(existing.run_histogram, excluded.run_histogram)
$$;
