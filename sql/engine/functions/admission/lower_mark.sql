-- lower_mark: lowers the mark of a limit's parked jobs to this job, which waits below it. The next release starts
-- there. The caller holds the lock of errand_internal.lock_limits.
create or replace function errand_internal.lower_mark(
    limit_key text, priority smallint, run_at timestamptz, job_id bigint
) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
    if (lower_mark.run_at, lower_mark.job_id) <= (
        select existing.run_at, existing.job_id
        from errand.limit_mark as existing
        where existing.limit_key = lower_mark.limit_key and existing.priority = lower_mark.priority
        order by existing.marked_at desc
        limit 1)
    then
        perform errand_internal.mark_parked(
            lower_mark.limit_key, lower_mark.priority, lower_mark.run_at, lower_mark.job_id - 1);
    end if;
end
$$;
