-- update_statistics: counts the jobs by queue, kind and state, and computes the latest throughput, for the views of
-- operators.
--
-- A table of up to max_pages pages is counted. Of a larger one a random sample of that size is read and scaled up, so
-- the cost has a bound: some 200 ms. Everything is read before anything is written: a transaction that writes for long
-- would hold up the workers' marks.
--
-- Returns whether any number has changed; null if another session is at it.
create or replace function errand_internal.update_statistics(max_pages int default 20000) returns boolean
language plpgsql
set search_path = pg_catalog, errand, pg_temp set jit = off set max_parallel_workers_per_gather = 0
-- The planner can't know how long the arrays are.
set enable_nestloop = off
as $$
declare
    began timestamptz := clock_timestamp();
    percent real := errand_internal.sample_percent('errand.job', max_pages);
    percent_failed real := errand_internal.sample_percent('errand.failed', max_pages);
    counts errand.job_count[];
    rates errand.throughput[];
    changed int;
    total int := 0;
begin
    -- One session at a time is enough; two do no harm.
    if not errand_internal.try_lock('statistics') then
        return null;
    end if;
    perform set_config('synchronous_commit', 'off', true);
    counts := array(
        select row(counted.jobs, counted.oldest_due_at, counted.queue, counted.kind, counted.state)::errand.job_count
        from errand_internal.count_jobs(percent, percent_failed) as counted);
    rates := array(select lately from errand_internal.compute_throughput() as lately);

    insert into errand.job_count as existing
    select fresh.* from unnest(counts) as fresh
    on conflict on constraint job_count_pkey do update
    set jobs = excluded.jobs, oldest_due_at = excluded.oldest_due_at
    where (existing.jobs, existing.oldest_due_at) is distinct from (excluded.jobs, excluded.oldest_due_at);
    get diagnostics changed = row_count;
    total := total + changed;
    delete from errand.job_count as existing
    where not exists (
        select
        from unnest(counts) as fresh
        where (fresh.queue, fresh.kind, fresh.state) = (existing.queue, existing.kind, existing.state));
    get diagnostics changed = row_count;
    total := total + changed;
    insert into errand.throughput as existing
    select fresh.* from unnest(rates) as fresh
    on conflict on constraint throughput_pkey do update
    set succeeded = excluded.succeeded, failed = excluded.failed, retried = excluded.retried,
        wait_p50_ms = excluded.wait_p50_ms, wait_p95_ms = excluded.wait_p95_ms, wait_p99_ms = excluded.wait_p99_ms,
        run_p50_ms = excluded.run_p50_ms, run_p95_ms = excluded.run_p95_ms, run_p99_ms = excluded.run_p99_ms
    where (existing.*) is distinct from (excluded.*);
    delete from errand.throughput as existing
    where not exists (
        select
        from unnest(rates) as fresh
        where (fresh.subject, fresh.name, fresh.span) = (existing.subject, existing.name, existing.span));
    perform errand_internal.note_untaken_kinds();
    perform errand_internal.count_missed_completions();
    perform errand_internal.merge_finished();
    perform errand_internal.merge_refused();
    perform errand_internal.record_task(
        'statistics', began,
        case when percent < 100 then format('estimated from %s %% of the table', round(percent::numeric, 1)) end);
    return total > 0;
end
$$;
