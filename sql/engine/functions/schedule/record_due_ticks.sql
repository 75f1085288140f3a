-- record_due_ticks: records the due ticks of schedules, each tick exactly once, with its job or without: both or none.
--
-- The ticks are those of their plans. Of the due ones, those within max_lateness are enqueued. Of the others, the
-- schedule's missed says whether they are: none, the newest one if no other is in time, or as many as reach
-- max_catch_up. Of those that get no job, the newest 1,000 are recorded. Takes up to 200 ticks, oldest first; the
-- others of their schedules stay due.
--
-- A schedule is planned anew first if its plan has ended or is too old, if nothing of it is due, or if a due tick isn't
-- at the local time that was planned: the rules of its zone have changed.
--
-- The caller has locked the schedules. Returns what this call has recorded, as arrays; a tick may be on record already,
-- also by an earlier schedule of this name. Takes some 70 us a tick, of which the enqueue takes 35 to 50. Raises what
-- errand_internal.plan_schedule and errand.enqueue raise.
create or replace function errand_internal.record_due_ticks(
    inout schedules text[], out ticks timestamptz[], out outcomes text[]
)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    outdated text[];
    due text[];
    more record;
begin
    with planned as materialized (
        select
            target.name, target.due_at, target.kind, target.payload, target.queue, target.missed, target.max_catch_up,
            target.paused_at is not null as is_paused, plan.renew_at, plan.ticks, plan.locals, first, last,
            -- width_bucket counts what is not later than a time.
            last - width_bucket(now() - target.max_lateness - interval '1 microsecond', plan.ticks) as in_time,
            plan.schedule is null or plan.renew_at <= now() or last = cardinality(plan.ticks) or last < first
                or target.every is null and exists (
                    select
                    from generate_series(first, last) as index
                    where plan.ticks[index] at time zone target.time_zone <> plan.locals[index]
                ) as is_outdated
        from errand.schedule as target
        left join errand.schedule_plan as plan on plan.schedule = target.name
        cross join lateral (
            select width_bucket(target.last_tick, plan.ticks) + 1 as first, width_bucket(now(), plan.ticks) as last
        ) as due
        where target.name = any (record_due_ticks.schedules)
    ), due as (
        select
            planned.*, ticks[index] as tick, locals[index] as local, ticks[index + 1] as next_tick,
            last - index + 1 as rank
        from planned
        cross join generate_series(first, last) as index
        where not is_outdated
    ), decided as (
        select
            due.*,
            case
                when is_paused then case when rank <= 1000 then 'paused' end
                when rank <= in_time then 'enqueued'
                when rank <= in_time + caught_up then 'late'
                when rank <= in_time + caught_up + 1000 then
                    case missed when 'latest' then 'coalesced' else 'skipped' end
            end as outcome
        from due
        cross join lateral (
            select case missed
                when 'skip' then 0
                when 'latest' then (in_time <= 0)::int
                else greatest(0, max_catch_up - in_time)
            end as caught_up
        ) as allowed
    ), taken as materialized (
        select
            name, kind, payload, queue, is_paused, renew_at, tick, local, next_tick, outcome,
            -- The planner would make a hash table of all ticks for exists (…).
            (
                select true from errand.tick as past where past.schedule = decided.name and past.tick = decided.tick
            ) is not null as was_recorded
        from decided
        where outcome is not null
        order by due_at, name, tick
        limit 200
    ), enqueued as materialized (
        select
            name, tick,
            -- run_at is the tick's own time. So a job knows its tick, and its lateness shows.
            (select job_id from errand.enqueue(kind, payload, queue, run_at => tick)) as job_id
        from taken
        where not was_recorded and outcome in ('enqueued', 'late')
    ), recorded as (
        insert into errand.tick (schedule, tick, outcome, job_id)
        select name, tick, outcome, job_id
        from taken
        left join enqueued using (name, tick)
        where not was_recorded
    ), passed as (
        update errand.schedule as target
        set
            last_tick = newest.tick, last_local = newest.local,
            next_tick = case when not newest.is_paused then newest.next_tick end,
            due_at = least(newest.next_tick, newest.renew_at), problem = null
        from (
            select distinct on (name) name, tick, local, next_tick, renew_at, is_paused
            from taken
            order by name, tick desc
        ) as newest
        where target.name = newest.name
    )
    select
        array_agg(name) filter (where tick is not null), array_agg(tick) filter (where tick is not null),
        array_agg(outcome) filter (where tick is not null), array_agg(name) filter (where tick is null)
    into schedules, ticks, outcomes, outdated
    from (
        select name, tick, outcome
        from taken
        where not was_recorded
        union all
        select name, null, null
        from planned
        where is_outdated
    ) as result;
    if outdated is not null then
        perform errand_internal.plan_schedule(name) from unnest(outdated) as name;
        due := array(select name from errand.schedule where name = any (outdated) and due_at <= now());
        if due <> '{}' then
            select * into more from errand_internal.record_due_ticks(due);
            schedules := schedules || more.schedules;
            ticks := ticks || more.ticks;
            outcomes := outcomes || more.outcomes;
        end if;
    end if;
end
$$;
