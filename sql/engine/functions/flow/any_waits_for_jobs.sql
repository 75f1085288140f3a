-- any_waits_for_jobs: returns whether any job may wait for others. Until maintenance finds that none does, it is true:
-- errand_internal.stop_flows.
--
-- Two sequences instead of a query: an index probe would read what a held snapshot keeps, and each completion asks.
create or replace function errand_internal.any_waits_for_jobs() returns boolean
-- Not in SQL: that would be planned in each call.
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    return coalesce(pg_sequence_last_value('errand.flows_begun'), 0)
        > coalesce(pg_sequence_last_value('errand.flows_ended'), 0);
end
$$;
