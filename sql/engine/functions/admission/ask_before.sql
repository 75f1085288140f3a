-- ask_before: calls a job's guard before its start. Returns what becomes of the job: null = it may run, 'obsolete' =
-- the guard says no, 'failed' = the guard raised an error, which has cost the job an attempt.
create or replace function errand_internal.ask_before(job errand.job) returns text
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    begin
        return case
            when not errand_internal.ask_guard(
                job.guard, coalesce(job.payload, errand_internal.large_payload(job.payload_day, job.id)))
            then 'obsolete'
        end;
    exception
        -- `others` does not include a failed assertion.
        when others or assert_failure then
            perform errand_internal.guard_failed(job, format('guard %s: %s [%s]', job.guard, sqlerrm, sqlstate));
            return 'failed';
    end;
end
$$;
