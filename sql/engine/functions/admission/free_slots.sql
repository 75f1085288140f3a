-- free_slots: returns the numbers of free slots of a limit of `most` jobs: the lowest first, at most `wanted`.
--
-- The caller holds the lock of errand.lock_limits. If the limit was lowered, slots above it are removed once their jobs
-- have ended.
create or replace function errand.free_slots(limit_key text, most int, wanted int) returns int[]
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    taken int[] := array(select used.slot from errand.taken_slots(free_slots.limit_key) as used);
    highest int := errand.highest_slot(free_slots.limit_key);
begin
    if highest > most then
        delete from errand.limit_slot as beyond
        where beyond.limit_key = free_slots.limit_key and beyond.slot > most and beyond.slot <> all (taken);
    end if;
    return array(
        select number from generate_series(1, least(most, highest + wanted)) as number
        except
        select unnest(taken)
        order by number
        limit greatest(0, least(wanted, most - cardinality(taken))));
end
$$;
