-- still_wanted: calls a job's guard at its completion. If the guard raises an error the job is wanted: an error is no
-- reason to undo what was done.
create or replace function errand_internal.still_wanted(job errand.job) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    return errand_internal.ask_guard(
        job.guard, coalesce(job.payload, errand_internal.large_payload(job.payload_day, job.id)));
exception
    when others or assert_failure then
        return true;
end
$$;
