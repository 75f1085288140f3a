-- give_period: for errand_internal.insert_job: gives the time for which a job has taken a unique key
-- (errand_internal.take_period) to the job that it replaces. If it replaces none, nobody has the key for a time.
create or replace function errand_internal.give_period(unique_key text, from_id bigint, to_id bigint, outcome text)
returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
begin
    if outcome = 'replaced' then
        update errand.unique_period as existing
        set job_id = to_id
        where existing.unique_key = give_period.unique_key and existing.job_id = from_id;
    else
        delete from errand.unique_period as existing
        where existing.unique_key = give_period.unique_key and existing.job_id = from_id;
    end if;
end
$$;
