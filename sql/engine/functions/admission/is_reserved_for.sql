-- is_reserved_for: returns whether a reservation is still one of its job: the job waits, has the reserved time as its
-- run_at, and may start then. One that was cancelled, edited or given another time has none.
create or replace function errand_internal.is_reserved_for(reserved errand.rate_reservation) returns boolean
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    return exists (
        select
        from errand.job
        where job.id = reserved.job_id and job.run_at = reserved.start_at and job.rate_key = reserved.rate_key
            and job.state in ('scheduled', 'available', 'parked') and (job.not_after < reserved.start_at) is not true);
end
$$;
