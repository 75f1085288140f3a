-- move_to_cancelled: moves one unfinished job, as given, to the history as cancelled. If it runs, its attempt is
-- recorded, and its worker is told to stop it.
create or replace function errand_internal.move_to_cancelled(
    job errand.job, reason text, releases boolean default true
) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if job.state = 'running' then
        job.attempts := errand_internal.attempt_record(
            job, (select name from errand.worker where id = job.worker_id), 'cancelled', reason);
        perform errand_internal.notify('errand_cancel', job.id::text);
    end if;
    perform errand_internal.move_to_history(job, 'cancelled', null, reason, releases);
end
$$;
