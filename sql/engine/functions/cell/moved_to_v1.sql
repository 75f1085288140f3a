-- moved_to_v1: returns which of the jobs this cell has moved to another, and to which cell.
-- errand: for ops, monitor
create or replace function errand_internal.moved_to_v1(ids bigint[]) returns table (job_id bigint, cell int)
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select job_id, to_cell::int from errand.moved_job where job_id = any (ids)
$$;
