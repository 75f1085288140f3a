-- store_payloads: stores the payloads of more than 2 KB of jobs that were just inserted without them. The payloads are
-- checked: none is longer than errand_internal.check_job allows.
create or replace function errand_internal.store_payloads(ids bigint[], payloads jsonb[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    job_id bigint;
    given jsonb;
begin
    -- One by one: for a join the planner could read all of errand.job.
    for job_id, given in
        select one.id, one.payload
        from unnest(ids, payloads) as one(id, payload)
        where pg_column_size(one.payload) > 2000
    loop
        update errand.job set payload = given, payload_bytes = octet_length(given::text) where id = job_id;
    end loop;
end
$$;
