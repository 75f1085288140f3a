-- lowest_waiting_v1: scans below a worker's marks for jobs that its claims would miss, and returns the lowest position
-- of each priority, or null. This is the safety net for what marks can't know: a claim was rolled back after another
-- worker had skipped its locked rows. scanned[p] is the position up to which an earlier scan of priority p found
-- nothing: no job can wait there since. Only reads; visits every entry between the two, including dead ones.
--
-- It scans twice, the second time from what it has found. The first scan takes long if many entries are dead, and
-- meanwhile most of what it found was claimed. A worker that returned to that position would read all positions since.
-- While its claim took so long, the others would count it as a long-running writer and return as well, and all would
-- stay slow.
create or replace function errand_internal.lowest_waiting_v1(
    queue text, kinds text[], scanned bigint[], marks bigint[]
) returns bigint[]
-- Volatile, so that the second scan has a snapshot of its own.
language plpgsql volatile security definer
set search_path = pg_catalog, errand, pg_temp
-- A heartbeat waits for this call.
set lock_timeout = '500ms'
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    lowest bigint[] := scanned;
begin
    for pass in 1..2 loop
        lowest := array(
            select (
                select waiting.queue_position
                from errand.job as waiting
                where waiting.queue = lowest_waiting_v1.queue and waiting.priority = level
                    and waiting.queue_position >= lowest[level] and waiting.queue_position <= marks[level]
                    and waiting.state = 'available' and waiting.kind = any (kinds)
                    and waiting.is_handed_back is null
                order by waiting.queue_position
                limit 1)
            from generate_series(1, 4) as level
            order by level);
    end loop;
    return lowest;
end
$$;
