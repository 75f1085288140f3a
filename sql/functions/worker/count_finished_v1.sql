-- count_finished_v1: adds a second's worth of ended attempts to the rows of this worker and minute.
--
-- counts is an array of {queue, kind, outcome, jobs, wait_ms, run_ms}.
create or replace function errand.count_finished_v1(worker_id bigint, counts jsonb) returns void
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    insert into errand.finished_per_minute as kept (minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms)
    select
        date_trunc('minute', now()), count_finished_v1.worker_id, added.queue, added.kind, added.outcome, added.jobs,
        added.wait_ms, added.run_ms
    from jsonb_to_recordset(counts)
        as added(queue text, kind text, outcome text, jobs bigint, wait_ms bigint, run_ms bigint)
    on conflict on constraint finished_per_minute_pkey do update
    set jobs = kept.jobs + excluded.jobs, wait_ms = kept.wait_ms + excluded.wait_ms,
        run_ms = kept.run_ms + excluded.run_ms;
end
$$;
comment on function errand.count_finished_v1(bigint, jsonb) is
    'For workers: adds ended attempts to errand.finished_per_minute';
