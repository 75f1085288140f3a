-- record_due_ticks: records the due ticks of schedules, each tick exactly once, with its job or without: both or none.
--
-- The ticks are those of their plans. Of the due ones, those within max_lateness are enqueued. Of the others, the
-- schedule's missed says whether they are: none, the newest one if no other is in time, or as many as reach
-- max_catch_up. Of those that get no job, the newest 1,000 are recorded. Takes up to 200 ticks, oldest first; the
-- others of their schedules stay due.
--
-- The caller has locked the schedules. Returns what this call has recorded; a tick may be on record already, also by an
-- earlier schedule of this name. Takes some 70 us a tick, of which the enqueue takes 35 to 50.
create or replace function errand_internal.record_due_ticks(schedules text[])
returns table (schedule text, tick timestamptz, outcome text)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    with due as materialized (
        select
            target.name, target.kind, target.payload, target.queue, target.missed, target.max_catch_up,
            target.paused_at is not null as is_paused, plan.renew_at,
            plan.ticks[index] as tick, plan.locals[index] as local, plan.ticks[index + 1] as next_tick,
            last - index + 1 as rank,
            -- width_bucket counts what is not later than a time.
            last - width_bucket(now() - target.max_lateness - interval '1 microsecond', plan.ticks) as in_time
        from unnest(schedules) as mine (name)
        join errand.schedule as target on target.name = mine.name
        join errand.schedule_plan as plan on plan.schedule = mine.name
        cross join width_bucket(now(), plan.ticks) as last
        cross join generate_series(width_bucket(target.last_tick, plan.ticks) + 1, last) as index
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
            decided.*,
            exists (
                select from errand.tick as past where past.schedule = decided.name and past.tick = decided.tick
            ) as was_recorded
        from decided
        where outcome is not null
        order by min(decided.tick) over (partition by decided.name), decided.name, decided.tick
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
    select name, tick, outcome
    from taken
    where not was_recorded
    order by tick, name;
end
$$;
