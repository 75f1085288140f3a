-- end_periods: frees the unique keys that these jobs have for a time (unique_for of errand.enqueue), because they were
-- cancelled or discarded. keys has the unique key of each.
--
-- Waits for nothing: a row that another session has locked is about to be another job's.
create or replace function errand_internal.end_periods(ids bigint[], keys text[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
begin
    delete from errand.unique_period
    where ctid = any (array(
        select ctid from errand.unique_period
        where unique_key = any (keys) and job_id = any (ids)
        order by unique_key
        for update skip locked));
end
$$;
