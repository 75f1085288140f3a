-- plan_schedule: stores which ticks of a schedule are to come, and those that are due and not recorded.
--
-- To come are the ticks of the next 48 hours: at least 2, at most 100. Of those that are due it keeps as many as
-- errand_internal.record_due_ticks may enqueue, and 1,000 more. A plan is made anew within an hour, since the rules of
-- a time zone change; plans that were made at one moment are renewed at different ones.
--
-- Ticks on a day without ticks aren't among them: those that are due are recorded here, as excepted. The plan of a
-- schedule that ends has an infinite time behind its last tick.
--
-- The caller has locked the schedule. Raises ER422 if its times can't be read, or never come. Costs 0.3 to 2 ms.
create or replace function errand_internal.plan_schedule(name text) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    target errand.schedule;
    start timestamptz;
    renewal timestamptz;
    ticks timestamptz[];
    locals timestamp[];
    coming timestamptz[];
    coming_locals timestamp[];
begin
    -- In repeatable read, one of this name that another session has dropped since is still there.
    select *
    into target
    from errand.schedule as existing
    where existing.name = plan_schedule.name
    order by existing.created_at desc
    limit 1;
    if target.every is null then
        perform errand_internal.check_time_zone(target.time_zone);
    end if;
    start := greatest(target.last_tick, now());
    if target.last_tick < now() then
        with due as (
            select tick, local, target.exceptions ->> local::date::text as exception
            from errand_internal.newest_ticks(
                target.cron, target.every, target.time_zone,
                greatest(target.last_tick, target.starts_at - interval '1 microsecond'),
                least(now(), target.ends_at - interval '1 microsecond'),
                -- Ticks are at least a second apart, so these are all that are in time.
                1001 + target.max_catch_up + least(extract(epoch from target.max_lateness), 1000000)::int,
                target.last_local)
        ), recorded as (
            insert into errand.tick (schedule, tick, outcome, reason)
            select target.name, tick, 'excepted', exception
            from due
            where exception is not null
            on conflict do nothing
        )
        select array_agg(tick order by tick), array_agg(local order by tick)
        into ticks, locals
        from due
        where exception is null;
    end if;
    select array_agg(tick order by tick), array_agg(local order by tick)
    into coming, coming_locals
    from errand_internal.wanted_ticks(target, start, 100, start + interval '48 hours');
    if (cardinality(coming) >= 2) is not true then
        -- Of those that tick seldom, the next two.
        select array_agg(tick order by tick), array_agg(local order by tick)
        into coming, coming_locals
        from errand_internal.wanted_ticks(target, start, 2);
        if (cardinality(coming) = 2) is not true and target.ends_at is not null then
            coming := coming || timestamptz 'infinity';
            coming_locals := coming_locals || timestamp 'infinity';
        end if;
    end if;
    ticks := ticks || coming;
    locals := locals || coming_locals;
    if ticks is null then
        raise exception 'cron: expected a date that comes, got %', coalesce(target.cron, target.every::text)
            using errcode = 'ER422';
    end if;
    renewal := case
        when target.every is null then now() + (45 + 15 * random()) * interval '1 minute'
        else 'infinity'
    end;
    -- The next tick on a day without ticks is recorded when it would have come.
    if target.exceptions is not null then
        renewal := least(renewal, (
            select next.tick
            from (
                select day::timestamp at time zone target.time_zone as begins,
                    (day + 1)::timestamp at time zone target.time_zone as ends
                from (
                    select key::date as day from jsonb_object_keys(target.exceptions) as key order by 1
                ) as excepted
                where day >= (start at time zone target.time_zone)::date
            ) as days
            cross join lateral errand_internal.coming_ticks(
                target.cron, target.every, target.time_zone,
                greatest(start, begins - interval '1 microsecond', target.starts_at - interval '1 microsecond'), 1,
                target.last_local, least(ends, target.ends_at) - interval '1 microsecond') as next
            limit 1));
    end if;
    insert into errand.schedule_plan (schedule, renew_at, ticks, locals)
    values (target.name, renewal, ticks, locals)
    on conflict (schedule) do update
    set renew_at = excluded.renew_at, ticks = excluded.ticks, locals = excluded.locals;
    update errand.schedule as existing
    set
        next_tick = case when existing.paused_at is null then nullif(ticks[1], 'infinity') end,
        due_at = greatest(least(ticks[1], renewal), now()), problem = null
    where existing.name = target.name and existing.created_at = target.created_at;
end
$$;
