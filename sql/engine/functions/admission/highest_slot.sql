-- highest_slot: the highest number among a limit's slots, 0 where it has none.
create or replace function errand.highest_slot(limit_key text) returns int
language sql stable set search_path = pg_catalog, errand, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
    select coalesce((
        select known.slot
        from errand.limit_slot as known
        where known.limit_key = highest_slot.limit_key
        order by known.slot desc, known.admitted_at desc
        limit 1), 0)
$$;
comment on function errand.highest_slot(text) is 'The highest number among a limit''s slots; 0 where it has none';
