-- jitter_of: returns how long after a tick of a schedule its job starts: within its jitter, always the same for a tick.
--
-- The ticks of all schedules lie at round times. A hash of name and tick spreads their jobs, and a preview shows it.
create or replace function errand_internal.jitter_of(schedule errand.schedule, tick timestamptz) returns interval
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(
        schedule.jitter
        * ((hashtextextended(schedule.name || extract(epoch from tick), 0) & 1048575) / 1048576.0)::float8,
        interval '0')
$$;
