-- record_ticks_v1: settles ticks of several schedules, each tick exactly once: puts it on record and, where its outcome is
-- enqueued or late, its job in line, all or none. Writes down with it when each schedule ticks next, and what keeps it from
-- ticking.
--
-- One element of the arrays is a tick; those of a schedule are in their order. Answers the place (from 1 on) of each that lies
-- with the caller now, and whether it is this call that has settled it: false where it was settled before, also by an
-- earlier schedule of this name, or where the schedule was paused or resumed since. No answer for ticks of a schedule that
-- somebody else holds or that has another version: nobody waits, so that a transaction which somebody left open over one
-- schedule holds up no other. None for ticks to come: the clock may have been put back since the caller looked at it.
--
-- Raises ER421 where the database is a copy that nobody has adopted.
--
-- Some 70 us a tick, of which the enqueue takes 35 to 50.
create or replace function errand.record_ticks_v1(
    schedules text[], versions bigint[], ticks timestamptz[], outcomes text[], next_ticks timestamptz[], problems text[]
) returns table (index bigint, is_recorded boolean)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    held text[];
begin
    perform errand.check_home();
    select array_agg(name)
    into held
    from (
        select known.name
        from (select distinct * from unnest(schedules, versions) as wanted (name, version)) as asked
        join errand.schedule as known on known.name = asked.name and known.version = asked.version
        for no key update of known skip locked
    ) as free;
    -- A statement of its own: it sees what was committed before the schedules were held, the caller's may have begun long
    -- before.
    return query
    with due as materialized (
        select
            asked.*, known.kind, known.payload, known.queue,
            asked.tick > known.last_tick and (known.paused_at is not null) = (asked.outcome = 'paused') as passes,
            exists (
                select from errand.tick as past where past.schedule = asked.schedule and past.tick = asked.tick
            ) as was_recorded
        from unnest(schedules, ticks, outcomes, next_ticks, problems) with ordinality
            as asked (schedule, tick, outcome, next_tick, problem, index)
        join unnest(held) as mine (name) on mine.name = asked.schedule
        join errand.schedule as known on known.name = mine.name
        where asked.tick <= now()
    ), enqueued as materialized (
        select
            index,
            -- run_at is the tick's own time: a job can tell which one it is for, and its lateness shows.
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
        update errand.schedule as known
        set last_tick = newest.tick, next_tick = newest.next_tick, problem = newest.problem
        from (
            select distinct on (schedule) schedule, tick, next_tick, problem
            from due
            where passes
            order by schedule, tick desc
        ) as newest
        where known.name = newest.schedule
    )
    select index, passes and not was_recorded
    from due
    order by index;
end
$$;
comment on function errand.record_ticks_v1(text[], bigint[], timestamptz[], text[], timestamptz[], text[]) is
    'For the scheduler: settles ticks of several schedules, each exactly once, with their jobs; answers which it settled';
