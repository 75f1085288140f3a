-- large_payload: returns a payload from errand.payload; null if there is none. Some 20 us for 10 KB.
create or replace function errand_internal.large_payload(day date, job_id bigint) returns jsonb
-- A plan from when the table was empty would read all of it forever.
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return (
        select payload
        from errand.payload
        where payload.day = large_payload.day and payload.job_id = large_payload.job_id);
end
$$;
