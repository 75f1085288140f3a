-- release_v1: releases jobs that wait for the slots of these limit keys (errand_internal.release_limits). A worker
-- calls it in the transaction of its completions if no claim follows: errand_internal.claim_v1 does the same.
create or replace function errand_internal.release_v1(limit_keys text[]) returns void
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    perform errand_internal.release_limits(limit_keys);
end
$$;
