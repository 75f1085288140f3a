-- cell_of: returns the cell that has given out a job's id.
--
--   select errand.cell_of(26388279066625);    -- 3
--
-- An id is the cell's number times 2^43, plus a number that the cell counts from 1. So 1,024 cells have 8.8 trillion
-- ids each: 60,000 a second for four and a half years. All are below 2^53, the first integer that JSON readers with
-- floating-point numbers (JavaScript, jq) would round.
-- errand: for enqueuer, worker, ops, monitor
-- errand: topic cells
create or replace function errand.cell_of(job_id bigint) returns int
language plpgsql immutable parallel safe security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    return (job_id >> 43)::int;
end
$$;
