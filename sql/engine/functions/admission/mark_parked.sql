-- mark_parked: sets the mark of a limit's parked jobs of one priority. Jobs up to this one were released, and the next
-- release starts behind it. Claims lower the mark for jobs that they park, errand_internal.scan_below_mark for all
-- others.
--
-- The caller holds the lock of errand_internal.lock_limits. The previous mark is deleted unless
-- errand_internal.prune has locked it: of several rows the newest counts.
create or replace function errand_internal.mark_parked(
    limit_key text, priority smallint, run_at timestamptz, job_id bigint
) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
    before timestamptz;
    row_id tid;
begin
    select existing.marked_at, existing.ctid into before, row_id
    from errand.limit_mark as existing
    where existing.limit_key = mark_parked.limit_key and existing.priority = mark_parked.priority
    order by existing.marked_at desc
    limit 1;
    if found then
        delete from errand.limit_mark
        where ctid = (select ctid from errand.limit_mark where ctid = row_id for update skip locked);
    end if;
    insert into errand.limit_mark (limit_key, priority, marked_at, run_at, job_id)
    values (
        mark_parked.limit_key, mark_parked.priority,
        greatest(clock_timestamp(), before + interval '1 microsecond'), mark_parked.run_at, mark_parked.job_id);
end
$$;
