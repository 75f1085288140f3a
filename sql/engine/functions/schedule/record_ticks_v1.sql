-- record_ticks_v1: records ticks of several schedules, each tick exactly once. A tick with the outcome enqueued or late
-- is recorded together with its job: both or none. Also stores the next tick of each schedule, and its problem.
--
-- One element of the arrays is a tick; those of a schedule are in order. Returns the index (from 1 on) of each tick
-- that is now recorded, and whether this call recorded it. is_recorded is false if the tick was recorded before, also
-- by an earlier schedule of this name, or if the schedule was paused or resumed since.
--
-- Returns no row for ticks of a schedule that another session has locked or that has another version. Nothing waits, so
-- a transaction that stays open over one schedule delays no other. Returns none for future ticks either: the clock may
-- have been set back since the caller read it.
--
-- Raises ER421 if the database is a copy that nobody has adopted. Takes some 70 us a tick, of which the enqueue takes
-- 35 to 50.
create or replace function errand_internal.record_ticks_v1(
    schedules text[], versions bigint[], ticks timestamptz[], outcomes text[], next_ticks timestamptz[], problems text[]
) returns table (index bigint, is_recorded boolean)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    existing text[];
begin
    perform errand_internal.check_home();
    select array_agg(name)
    into existing
    from (
        select target.name
        from (select distinct * from unnest(schedules, versions) as wanted (name, version)) as asked
        join errand.schedule as target on target.name = asked.name and target.version = asked.version
        for no key update of target skip locked
    ) as free;
    -- A statement of its own: it sees what was committed before the schedules were locked. The caller's snapshot may be
    -- much older.
    return query
    with due as materialized (
        select
            asked.*, target.kind, target.payload, target.queue,
            asked.tick > target.last_tick and (target.paused_at is not null) = (asked.outcome = 'paused') as passes,
            exists (
                select from errand.tick as past where past.schedule = asked.schedule and past.tick = asked.tick
            ) as was_recorded
        from unnest(schedules, ticks, outcomes, next_ticks, problems) with ordinality
            as asked (schedule, tick, outcome, next_tick, problem, index)
        join unnest(existing) as mine (name) on mine.name = asked.schedule
        join errand.schedule as target on target.name = mine.name
        where asked.tick <= now()
    ), enqueued as materialized (
        select
            index,
            -- run_at is the tick's own time. So a job knows its tick, and its lateness shows.
            (select job_id from errand.enqueue(kind, payload, queue, run_at => tick)) as job_id
        from due
        where passes and not was_recorded and outcome in ('enqueued', 'late')
        order by index
    ), recorded as (
        insert into errand.tick (schedule, tick, outcome, job_id)
        select schedule, tick, outcome, job_id
        from due
        left join enqueued using (index)
        where passes and not was_recorded
    ), passed as (
        update errand.schedule as target
        set last_tick = newest.tick, next_tick = newest.next_tick, problem = newest.problem
        from (
            select distinct on (schedule) schedule, tick, next_tick, problem
            from due
            where passes
            order by schedule, tick desc
        ) as newest
        where target.name = newest.schedule
    )
    select index, passes and not was_recorded
    from due
    order by index;
end
$$;
