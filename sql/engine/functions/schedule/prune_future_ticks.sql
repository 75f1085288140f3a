-- prune_future_ticks: makes schedules tick again whose last tick lies in the future, because the server's clock was
-- set back. Without it they would be silent until that time.
--
-- A tick in the future that has a job stays recorded: its job has run, and gets no second one. A tick without a job was
-- passed over, and may come. A schedule that another session has locked stays until the next call.
create or replace function errand_internal.prune_future_ticks() returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    with ahead as (
        select name from errand.schedule where last_tick > clock_timestamp() for no key update skip locked
    ),
    gone as (
        delete from errand.tick
        where schedule in (select name from ahead) and tick > clock_timestamp() and job_id is null
    ),
    unplanned as (
        delete from errand.schedule_plan where schedule in (select name from ahead)
    )
    update errand.schedule as existing
    set
        due_at = now(), last_local = null,
        last_tick = coalesce(
            greatest(
                (
                    select max(tick)
                    from errand.tick
                    where tick.schedule = existing.name and tick.tick <= clock_timestamp()
                ),
                -- Ticks before a change may never have been wanted.
                case when changed_at <= clock_timestamp() then changed_at end),
            now())
    where name in (select name from ahead)
$$;
