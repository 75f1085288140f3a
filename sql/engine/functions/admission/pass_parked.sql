-- pass_parked: moves the marks of a limit past the 1,000 parked jobs of which errand_internal.next_parked has released
-- none: all belong to slow or paused queues, or to a kind that no worker knows. errand_internal.scan_below_mark finds
-- them once these aren't any more.
--
-- The caller holds the lock of errand_internal.lock_limits.
-- errand: after parked_ahead
create or replace function errand_internal.pass_parked(limit_key text) returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select errand_internal.mark_parked(pass_parked.limit_key, level, last.run_at, last.id)
    from unnest('{1,2,3,4}'::smallint[]) as level
    cross join lateral (select errand_internal.parked_ahead(pass_parked.limit_key, level) as rows) as ahead
    join errand.job as last on last.ctid = ahead.rows[1000]
$$;
