-- free_key: frees a unique key that an expired job has: the job becomes obsolete, as at its claim. Returns whether it
-- did so.
create or replace function errand_internal.free_key(unique_key text) returns boolean
-- A plan from when the table was empty would read all of it forever.
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    existing errand.job;
begin
    select * into existing
    from errand.job
    where job.unique_key = free_key.unique_key and errand_internal.is_expired(job)
    for update;
    if not found then
        return false;
    end if;
    -- The caller may take other keys: it must not have locked jobs out of their order.
    perform errand_internal.move_to_history(
        existing, 'obsolete', null, 'not started by ' || existing.not_after, releases => false);
    return true;
end
$$;
