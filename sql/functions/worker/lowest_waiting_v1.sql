-- lowest_waiting_v1: looks below a worker's marks for jobs that it would not see, and returns the lowest line of each
-- priority, or null. A safety net for the one thing that marks can't know: a claim that was rolled back after another
-- worker had stepped over its locked rows. Reads only; costs a visit to every entry below the marks.
create or replace function errand.lowest_waiting_v1(queue text, kinds text[], marks bigint[]) returns bigint[]
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return array(
        select (
            select waiting.line
            from errand.job as waiting
            where waiting.queue = lowest_waiting_v1.queue and waiting.priority = lane and waiting.line > 0
                and waiting.line <= marks[lane] and waiting.state = 'available' and waiting.kind = any (kinds)
            order by waiting.line
            limit 1)
        from generate_series(1, 4) as lane
        order by lane);
end
$$;
comment on function errand.lowest_waiting_v1(text, text[], bigint[]) is
    'For workers: the lowest waiting line at or below each mark, null where there is none';
