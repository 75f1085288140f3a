-- schedules_v1: returns all schedules for a scheduler, with the database's time: ticks follow that clock.
--
-- Every 10 s it records that a scheduler runs; errand.health reads the record. Ticks in the future are from before the
-- server's clock was set back, and are forgotten first (errand_internal.prune_future_ticks). Raises ER421 if the
-- database is a copy that nobody has adopted.
create or replace function errand_internal.schedules_v1() returns table (
    now timestamptz, name text, version bigint, last_tick timestamptz, next_tick timestamptz, paused boolean, cron text,
    every_us bigint, time_zone text, missed text, max_lateness_us bigint, max_catch_up int, problem text
)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_home();
    perform errand_internal.record_maintenance_task('schedule', clock_timestamp())
    where not exists (
        select
        from errand.maintenance_task
        where maintenance_task.name = 'schedule'
            and done_at between clock_timestamp() - interval '10 seconds' and clock_timestamp());
    if exists (select from errand.schedule where last_tick > clock_timestamp()) then
        perform errand_internal.prune_future_ticks();
    end if;
    return query
    select
        now(), existing.name, existing.version, existing.last_tick, existing.next_tick, existing.paused_at is not null,
        existing.cron,
        (extract(epoch from existing.every) * 1000000)::bigint, existing.time_zone, existing.missed,
        (extract(epoch from existing.max_lateness) * 1000000)::bigint, existing.max_catch_up, existing.problem
    from errand.schedule as existing
    order by existing.name;
end
$$;
