-- take_payload: deletes a payload from errand.payload and returns it; null if there is none.
create or replace function errand_internal.take_payload(day date, job_id bigint) returns jsonb
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    taken jsonb;
begin
    delete from errand.payload
    where payload.day = take_payload.day and payload.job_id = take_payload.job_id
    returning payload into taken;
    return taken;
end
$$;
