-- lowest_waiting_v1: looks below a worker's marks for jobs that it would not see, and returns the lowest line of each
-- priority, or null. A safety net for the one thing that marks can't know: a claim that was rolled back after another
-- worker had stepped over its locked rows. looked[p] is up to where it has found nothing before, for priority p:
-- nothing can have come to wait there since. Reads only; costs a visit to every entry between the two, dead ones too.
--
-- It looks twice, the second time from what it has found. The first look takes long where many entries are dead, and
-- what waited when it began has most often been claimed since. A worker that went back for that would read over all
-- lines of that time; while its claim took so long the others would set it aside, go back as well, and all would be
-- slow for good.
create or replace function errand.lowest_waiting_v1(
    queue text, kinds text[], scanned bigint[], marks bigint[]
) returns bigint[]
-- Volatile, so that the second look has a snapshot of its own.
language plpgsql volatile security definer
set search_path = pg_catalog, errand, pg_temp
-- A heartbeat waits behind this.
set lock_timeout = '500ms'
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
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
comment on function errand.lowest_waiting_v1(text, text[], bigint[], bigint[]) is
    'For workers: the lowest waiting line behind looked and up to the mark of each priority, null where there is none';
