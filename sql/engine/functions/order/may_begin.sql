-- may_begin: returns whether a job that is ready to run is the next one of its order key, as far as this session sees.
-- Otherwise the caller parks it. errand_internal.requeue asks it about each job that becomes available, and
-- errand_internal.insert_job about a new one.
--
-- The job joins the key: no later one passes it. The claim has the last word (errand_internal.admit_order), since the
-- transactions of others may commit at any time. If the job is to be parked, maintenance looks at the key once more.
create or replace function errand_internal.may_begin(job_id bigint, order_key text) returns boolean
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    holder bigint;
begin
    insert into errand.order_job (order_key, job_id)
    values (may_begin.order_key, may_begin.job_id)
    on conflict do nothing;
    select slot.job_id into holder from errand.order_slot as slot where slot.order_key = may_begin.order_key;
    if holder = may_begin.job_id
        or holder is null and not exists (
            select
            from errand.order_job as other
            where other.order_key = may_begin.order_key and other.job_id < may_begin.job_id)
    then
        return true;
    end if;
    insert into errand.order_check (order_key) values (may_begin.order_key);
    return false;
end
$$;
