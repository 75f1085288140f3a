-- take_period: takes a unique key for a job for a time that counts from now on (unique_for of errand.enqueue). Returns
-- null, or the job that has the key for a time already.
--
-- A second transaction waits for the first one's end. A row of another job isn't locked, so that errand.cancel need not
-- wait for it.
create or replace function errand_internal.take_period(
    unique_key text, job_id bigint, unique_for interval, subject text
) returns bigint
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    holder bigint;
begin
    loop
        select existing.job_id into holder
        from errand.unique_period as existing
        -- By the clock: a long transaction enqueues too.
        where existing.unique_key = take_period.unique_key and existing.until > clock_timestamp();
        if found then
            return holder;
        end if;
        update errand.unique_period as existing
        set job_id = take_period.job_id, until = now() + unique_for, subject = take_period.subject
        where existing.unique_key = take_period.unique_key and existing.until <= clock_timestamp();
        if found then
            return null;
        end if;
        insert into errand.unique_period (unique_key, job_id, until, subject)
        values (take_period.unique_key, take_period.job_id, now() + unique_for, take_period.subject)
        on conflict do nothing;
        if found then
            return null;
        end if;
    end loop;
end
$$;
