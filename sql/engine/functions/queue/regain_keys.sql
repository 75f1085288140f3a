-- regain_keys: gives jobs that wait again the unique keys that they have only while they wait (unique_while of
-- errand.enqueue). A job whose key another one has by now, or is about to get, goes on without it. So does one that is
-- in the middle of its work, as it waits for a signal or has steps on record: it could miss what is merged into it.
--
-- Whatever takes a job back from its worker calls it, and so does what makes an ended job wait again: complete_v1,
-- rescue, release_worker, leave_v1, unlisted_jobs_v1, requeue_jobs. Waits for no transaction that holds a key: workers
-- and maintenance call it.
create or replace function errand_internal.regain_keys(ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set lock_timeout = '1ms'
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    back record;
begin
    for back in
        select id, waiting_key
        from errand.job
        where id = any (regain_keys.ids) and waiting_key is not null and unique_key is null and state <> 'running'
            and starts_with(parked_for, 'signal:') is not true
            and (select true from errand.step where job_id = job.id limit 1) is null
        -- In one order for all sessions.
        order by waiting_key, id
    loop
        begin
            update errand.job
            set unique_key = waiting_key
            where id = back.id
                and not exists (select from errand.job as other where other.unique_key = back.waiting_key);
        exception
            when unique_violation or lock_not_available then
                null;
        end;
    end loop;
end
$$;
