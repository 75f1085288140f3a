-- highest_slot: returns the highest slot number of a limit, 0 if it has no slot.
create or replace function errand_internal.highest_slot(limit_key text) returns int
language plpgsql stable set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
    return coalesce((
        select existing.slot
        from errand.limit_slot as existing
        where existing.limit_key = highest_slot.limit_key
        order by existing.slot desc, existing.admitted_at desc
        limit 1), 0);
end
$$;
