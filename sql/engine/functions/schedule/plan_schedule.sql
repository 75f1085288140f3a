-- plan_schedule: stores which ticks of a schedule are to come, and those that are due and not recorded.
--
-- To come are the ticks of the next 48 hours: at least 2, at most 100. Of those that are due it keeps as many as
-- errand_internal.record_due_ticks may enqueue, and 1,000 more. A plan is made anew within an hour, since the rules of
-- a time zone change; plans that were made at one moment are renewed at different ones.
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
    select array_agg(tick order by tick), array_agg(local order by tick)
    into ticks, locals
    from (
        select tick, local
        from errand_internal.newest_ticks(
            target.cron, target.every, target.time_zone, target.last_tick, now(),
            -- Ticks are at least a second apart, so these are all that are in time.
            1001 + target.max_catch_up + least(extract(epoch from target.max_lateness), 1000000)::int,
            target.last_local)
        where target.last_tick < now()
        union all
        select tick, local
        from errand_internal.coming_ticks(
            target.cron, target.every, target.time_zone, start, 100, target.last_local,
            start + interval '48 hours')
    ) as wanted;
    -- Of those that tick seldom, the next two.
    if coalesce(ticks[cardinality(ticks) - 1], now()) <= now() then
        select ticks || array_agg(tick order by tick), locals || array_agg(local order by tick)
        into ticks, locals
        from errand_internal.coming_ticks(
            target.cron, target.every, target.time_zone, greatest(start, ticks[cardinality(ticks)]), 2,
            target.last_local);
    end if;
    if ticks is null then
        raise exception 'cron: expected a date that comes, got %', coalesce(target.cron, target.every::text)
            using errcode = 'ER422';
    end if;
    renewal := case
        when target.every is null then now() + (45 + 15 * random()) * interval '1 minute'
        else 'infinity'
    end;
    insert into errand.schedule_plan (schedule, renew_at, ticks, locals)
    values (target.name, renewal, ticks, locals)
    on conflict (schedule) do update
    set renew_at = excluded.renew_at, ticks = excluded.ticks, locals = excluded.locals;
    update errand.schedule as existing
    set
        next_tick = case when existing.paused_at is null then ticks[1] end,
        due_at = greatest(least(ticks[1], renewal), now()), problem = null
    where existing.name = target.name and existing.created_at = target.created_at;
end
$$;
