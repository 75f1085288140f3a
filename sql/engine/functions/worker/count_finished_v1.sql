-- count_finished_v1: adds a second's completed attempts to the rows of this worker and minute.
--
-- worker_ids are all ids of the process, the current one first: the rows carry that. counts is an array of {queue,
-- kind, outcome, jobs, wait_ms, run_ms, wait_histogram, run_histogram}; the histograms are optional. upto and beyond
-- say of which transactions all completions are counted now, as in errand.counted. If maintenance counts the current
-- id as lost, nothing is added: errand_internal.count_missed_completions counts them.
create or replace function errand_internal.count_finished_v1(
    worker_ids bigint[], counts jsonb, upto bigint, beyond bigint[]
) returns void
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    update errand.counted
    set upto_transaction = greatest(upto_transaction, count_finished_v1.upto), beyond = count_finished_v1.beyond
    where worker_id = any (worker_ids);
    if not exists (select from errand.counted where worker_id = worker_ids[1]) then
        return;
    end if;
    insert into errand.finished_per_minute as existing (
        minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms, wait_histogram, run_histogram)
    select
        date_trunc('minute', now()), worker_ids[1], added.queue, added.kind, added.outcome, added.jobs,
        added.wait_ms, added.run_ms, coalesce(added.wait_histogram, '{}'), coalesce(added.run_histogram, '{}')
    from jsonb_to_recordset(counts) as added(
        queue text, kind text, outcome text, jobs bigint, wait_ms bigint, run_ms bigint, wait_histogram int[],
        run_histogram int[])
    on conflict on constraint finished_per_minute_pkey do update
    set jobs = existing.jobs + excluded.jobs, wait_ms = existing.wait_ms + excluded.wait_ms,
        run_ms = existing.run_ms + excluded.run_ms,
        wait_histogram = errand_internal.add_histograms(existing.wait_histogram, excluded.wait_histogram),
        run_histogram = errand_internal.add_histograms(existing.run_histogram, excluded.run_histogram);
end
$$;
