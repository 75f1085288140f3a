-- slot_is_taken: whether a slot of a limit counts. A line is drawn once, so a job that has ended, was handed back or was
-- rescued no longer has the one that it was admitted under: nobody has to give a slot back, and no crash leaks one.
--
-- A job that was put in line for a slot has 5 s to be claimed.
create or replace function errand.slot_is_taken(slot errand.limit_slot) returns boolean
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select exists (
        select
        from errand.job
        where job.id = slot.job_id and coalesce(job.line, 0) = slot.line
            and (job.state = 'running' or slot.admitted_at > clock_timestamp() - interval '5 seconds'))
$$;
comment on function errand.slot_is_taken(errand.limit_slot) is 'Whether the slot''s job runs, or may start any moment';
