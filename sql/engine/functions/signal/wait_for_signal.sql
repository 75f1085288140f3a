-- wait_for_signal: parks a running job, as given, until a signal comes or `until` is over. The attempt is not counted.
--
-- wait is {"for": the signal's name, "by": the role whose members may send it}. Without a role it is the login that the
-- job belongs to, if any: errand.enqueue with follow => true. If the signal has come already, the job is available at
-- once.
create or replace function errand_internal.wait_for_signal(job errand.job, wait jsonb, until timestamptz) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    update errand.job as live
    set state = 'parked', attempt = job.attempt - 1, crashes = 0, queue_position = null, worker_id = null,
        parked_for = 'signal:' || (wait ->> 'for'), options = job.options - 'signal'
    where live.id = job.id;
    insert into errand.signal_wait as old (job_id, until, name, role)
    -- After not_after the job would not start, whatever comes: it ends then.
    values (
        job.id, least(wait_for_signal.until, job.not_after), wait ->> 'for',
        coalesce(wait ->> 'by', job.options ->> 'owner'))
    on conflict on constraint signal_wait_pkey do update
    set until = excluded.until, name = excluded.name, role = excluded.role;
    insert into errand.signal_check (job_id) values (job.id);
    perform errand_internal.release_waits(array[job.id]);
end
$$;
