-- set_rate_clock: sets how far the starts of a key are given away: see errand.rate_clock. The caller holds the lock of
-- errand_internal.lock_limits.
create or replace function errand_internal.set_rate_clock(rate_key text, tat double precision) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    delete from errand.rate_clock
    where ctid = any (array(
        select ctid
        from errand.rate_clock as existing
        where existing.rate_key = set_rate_clock.rate_key
        -- errand_internal.prune may have locked it.
        for update skip locked));
    insert into errand.rate_clock (rate_key, tat)
    values (set_rate_clock.rate_key, set_rate_clock.tat)
    on conflict on constraint rate_clock_pkey do nothing;
end
$$;
