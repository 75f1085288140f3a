-- stop_flows: notes that no job waits for others, so that completions don't ask. begun is the number of waits that had
-- begun before the caller saw none.
--
-- A job that begins to wait locks errand.flow_check and then counts itself. So one that this call doesn't see either
-- holds that lock still or counts above begun.
create or replace function errand_internal.stop_flows(begun bigint) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    if begun > coalesce(pg_sequence_last_value('errand.flows_ended'), 0)
        and errand_internal.writers_of('errand.flow_check') = '{}'
        and not exists (select from errand.flow_check)
        and not exists (select from errand.job where parked_for > 'job:' and parked_for < 'job:A')
    then
        perform setval('errand.flows_ended', begun);
    end if;
end
$$;
