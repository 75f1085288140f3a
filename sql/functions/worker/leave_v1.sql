-- leave_v1: ends a worker's lease. With scan, jobs that are still claimed under its id go back in line, uncounted:
-- their claim's answer was lost, so they never started. The scan reads everything in line; without doubt there is no
-- need. What another session has locked stays as it is: housekeeping takes it back.
create or replace function errand.leave_v1(worker_id bigint, scan boolean) returns int
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    released int := 0;
begin
    delete from errand.worker
    where id = (select own.id from errand.worker as own where own.id = leave_v1.worker_id for update skip locked);
    if scan then
        update errand.job
        set state = 'available', attempt = attempt - 1
        where id in (
            select held.id
            from errand.job as held
            where held.line is not null and held.state = 'running' and held.worker_id = leave_v1.worker_id
            for update skip locked);
        get diagnostics released = row_count;
    end if;
    perform errand.wake();
    return released;
end
$$;
comment on function errand.leave_v1(bigint, boolean) is
    'For workers: ends a lease; with scan, jobs still claimed under it go back in line. Returns how many';
