-- record_due_ticks: records the due ticks of schedules, each tick exactly once, with its job or without: both or none.
--
-- The ticks are those of their plans. Of the due ones, those within max_lateness are enqueued. Of the others, the
-- schedule's missed says whether they are: none, the newest one if no other is in time, or as many as reach
-- max_catch_up. Of those that get no job, the newest 1,000 are recorded. Takes up to 200 ticks, oldest first; the
-- others of their schedules stay due.
--
-- The plan of a schedule that ends has an infinite time as its last one: it isn't planned anew for that.
--
-- A schedule is planned anew first if its plan has ended or is too old, if nothing of it is due, or if a due tick isn't
-- at the local time that was planned: the rules of its zone have changed.
--
-- The caller has locked these rows of errand.schedule, which it names by ctid: beside a held snapshot, an index has an
-- entry for each tick of a schedule. Returns what this call has recorded, as arrays; a tick may be on record already,
-- also by an earlier schedule of this name. Takes 75 to 90 us a tick, of which the enqueue takes some 65. Raises what
-- errand_internal.plan_schedule and errand_internal.enqueue_tick raise.
create or replace function errand_internal.record_due_ticks(
    row_ids tid[], out schedules text[], out ticks timestamptz[], out outcomes text[]
)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    outdated text[];
    due tid[];
    more record;
begin
    with planned as materialized (
        select
            target.ctid as row_id, target as schedule, target.name, target.due_at, target.missed,
            target.paused_at is not null as is_paused, plan.renew_at, plan.ticks, plan.locals, last, in_time,
            caught_up, begins, least(last, begins + 199) as ends,
            plan.schedule is null or plan.renew_at <= now() or last = cardinality(plan.ticks) or last < first
                or target.every is null and exists (
                    select
                    from generate_series(begins, least(last, begins + 199)) as index
                    where plan.ticks[index] at time zone target.time_zone <> plan.locals[index]
                ) as is_outdated
        from errand.schedule as target
        left join errand.schedule_plan as plan on plan.schedule = target.name
        -- width_bucket counts what is not later than a time.
        cross join lateral (
            select width_bucket(target.last_tick, plan.ticks) + 1 as first, width_bucket(now(), plan.ticks) as last
        ) as due
        cross join lateral (
            select case
                when target.paused_at is not null then 0
                else last - width_bucket(now() - target.max_lateness - interval '1 microsecond', plan.ticks)
            end as in_time
        ) as punctual
        cross join lateral (
            select case
                when target.paused_at is not null or target.missed = 'skip' then 0
                when target.missed = 'latest' then (in_time = 0)::int
                else greatest(0, target.max_catch_up - in_time)
            end as caught_up
        ) as late
        cross join lateral (
            select greatest(first, last + 1 - in_time - caught_up - 1000) as begins
        ) as bound
        where target.ctid = any (row_ids)
    ), taken as materialized (
        select
            row_id, schedule, name, is_paused, renew_at, ticks[index] as tick, locals[index] as local,
            nullif(ticks[index + 1], 'infinity') as next_tick,
            case
                when is_paused then 'paused'
                when last - index < in_time then 'enqueued'
                when last - index < in_time + caught_up then 'late'
                when missed = 'latest' then 'coalesced'
                else 'skipped'
            end as outcome,
            -- The planner would make a hash table of all ticks for exists (…).
            (
                select true from errand.tick as past where past.schedule = name and past.tick = ticks[index]
            ) is not null as was_recorded
        from planned
        cross join generate_series(begins, ends) as index
        where not is_outdated
        order by due_at, name, index
        limit 200
    ), enqueued as materialized (
        select
            taken.*, not was_recorded and outcome in ('enqueued', 'late') as is_wanted,
            case
                when not was_recorded and outcome in ('enqueued', 'late')
                -- run_at is the tick's own time, and its jitter. So a job knows its tick, and its lateness shows.
                then errand_internal.enqueue_tick(
                    schedule,
                    case
                        when (schedule).jitter is null then tick
                        else tick + errand_internal.jitter_of(schedule, tick)
                    end)
            end as job_id
        from taken
    ), completed as materialized (
        select
            row_id, name, is_paused, renew_at, tick, local, next_tick, was_recorded, job_id,
            case when is_wanted and job_id is null then 'overlapped' else outcome end as outcome
        from enqueued
    ), recorded as (
        insert into errand.tick (schedule, tick, outcome, job_id)
        select name, tick, outcome, job_id from completed where not was_recorded
    ), passed as (
        update errand.schedule as target
        set
            last_tick = newest.tick, last_local = newest.local,
            next_tick = case when not newest.is_paused then newest.next_tick end,
            -- With ticks left that are due, now: callers read from a mark on, and those are older.
            due_at = greatest(least(newest.next_tick, newest.renew_at), now()), problem = null
        from (
            select distinct on (row_id) row_id, tick, local, next_tick, renew_at, is_paused
            from completed
            order by row_id, tick desc
        ) as newest
        where target.ctid = newest.row_id
    )
    select
        array_agg(name) filter (where tick is not null), array_agg(tick) filter (where tick is not null),
        array_agg(outcome) filter (where tick is not null), array_agg(name) filter (where tick is null)
    into schedules, ticks, outcomes, outdated
    from (
        select name, tick, outcome
        from completed
        where not was_recorded
        union all
        select name, null, null
        from planned
        where is_outdated
    ) as result;
    if outdated is not null then
        perform errand_internal.plan_schedule(name) from unnest(outdated) as name;
        due := array(select ctid from errand.schedule where name = any (outdated) and due_at <= now());
        if due <> '{}' then
            select * into more from errand_internal.record_due_ticks(due);
            schedules := schedules || more.schedules;
            ticks := ticks || more.ticks;
            outcomes := outcomes || more.outcomes;
        end if;
    end if;
end
$$;
