-- large_payload: a payload that lies in errand.payload; null where there is none. Some 20 us for 10 KB.
create or replace function errand.large_payload(day date, job_id bigint) returns jsonb
-- A plan that was made while the table was empty would read all of it for ever.
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
comment on function errand.large_payload(date, bigint) is
    'A payload that lies in errand.payload; null where there is none';
