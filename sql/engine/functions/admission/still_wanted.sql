-- still_wanted: asks a job's guard at its end. One that can't answer is no reason to undo what was done: then it is.
create or replace function errand.still_wanted(job errand.job) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    return errand.ask_guard(
        job.guard, coalesce(job.payload, errand.large_payload(job.payload_day, job.id)));
exception
    when others or assert_failure then
        return true;
end
$$;
comment on function errand.still_wanted(errand.job) is 'What a job''s guard says at its end; yes where it can''t answer';
