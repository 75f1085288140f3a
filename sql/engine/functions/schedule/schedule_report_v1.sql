-- schedule_report_v1: stores what only a scheduler can compute: the next tick of a schedule, or why it has none.
--
-- If another session has locked the schedule, nothing is written: the scheduler reports again.
create or replace function errand_internal.schedule_report_v1(
    schedule text, version bigint, next_tick timestamptz, problem text
) returns void
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    update errand.schedule as existing
    set next_tick = schedule_report_v1.next_tick, problem = schedule_report_v1.problem
    where existing.name = (
        select free.name
        from errand.schedule as free
        where free.name = schedule_report_v1.schedule and free.version = schedule_report_v1.version
            and (free.next_tick, free.problem)
                is distinct from (schedule_report_v1.next_tick, schedule_report_v1.problem)
        for no key update skip locked)
$$;
