-- put_schedule: creates a schedule or changes it, from its next tick on, within a second.
--
--   select errand.put_schedule('daily_report', '0 6 * * *', 'daily_report', time_zone => 'Europe/Paris');
--   select errand.put_schedule('expiry', 'every 30 s', 'invite_expiry', missed => 'skip');
--
-- cron is five fields (minute, hour, day of month, month, day of week), or six with the second first, or @daily and the
-- like, or `every` and an interval of at least a second. errand.next_ticks shows its ticks. A local time that clocks
-- skip runs once, right after; one that occurs twice runs once. With a wildcard as its hour a schedule follows real
-- time.
--
-- missed says what happens to ticks that were not enqueued within max_lateness. skip: nothing. latest: one job for all
-- of them. all: one job each, for the newest max_catch_up.
--
-- Returns created, changed or unchanged. Raises ER422, also for a date that never comes, and ER413 for a payload over
-- 256 KB.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.put_schedule(
    name text,
    cron text,
    kind text,
    payload jsonb default '{}',
    time_zone text default 'UTC',
    missed text default 'latest',
    queue text default null,
    max_lateness interval default interval '1 minute',
    max_catch_up int default 100
) returns text
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    old errand.schedule;
    fresh errand.schedule;
    fields text := btrim(regexp_replace(put_schedule.cron, E'\\s+', ' ', 'g'));
    is_same_clock boolean;
    -- Without the payload, which not every reader of errand.audit may see. An interval is added as people write it:
    -- programs give it in microseconds.
    asked jsonb := jsonb_strip_nulls(jsonb_build_object(
        'schedule', put_schedule.name, 'kind', put_schedule.kind, 'time_zone', put_schedule.time_zone,
        'missed', put_schedule.missed, 'queue', put_schedule.queue));
begin
    perform errand_internal.check_job(
        put_schedule.kind, put_schedule.payload, put_schedule.queue, null, null, null, 'put_schedule');
    if put_schedule.name is null or put_schedule.name !~ '^[a-z][a-z0-9_.-]{0,99}$' then
        raise exception 'put_schedule: name: expected a-z, then up to 99 of a-z 0-9 _ . -, got %',
            coalesce(quote_literal(left(put_schedule.name, 120)), 'null') using errcode = 'ER422';
    elsif put_schedule.missed is null or put_schedule.missed not in ('skip', 'latest', 'all') then
        raise exception 'put_schedule: missed: expected skip, latest or all, got %',
            coalesce(quote_literal(put_schedule.missed), 'null') using errcode = 'ER422';
    elsif put_schedule.max_lateness is null
        or put_schedule.max_lateness not between interval '1 second' and interval '10 years'
    then
        raise exception 'put_schedule: max_lateness: expected 1 s to 10 years, got %',
            coalesce(put_schedule.max_lateness::text, 'null') using errcode = 'ER422';
    elsif put_schedule.max_catch_up is null or put_schedule.max_catch_up not between 1 and 100000 then
        raise exception 'put_schedule: max_catch_up: expected 1 to 100000, got %',
            coalesce(put_schedule.max_catch_up::text, 'null') using errcode = 'ER422';
    end if;
    begin
        perform errand_internal.check_time_zone(put_schedule.time_zone);
        fresh.every := errand_internal.schedule_interval(fields);
        if fresh.every is null then
            fresh.cron := fields;
            -- From a fixed time, so that the same text is always refused.
            if not exists (select from errand.next_ticks(fields, 'UTC', '2000-01-01 00:00+00', 1)) then
                raise exception 'cron: expected a date that comes, got %', fields using errcode = 'ER422';
            end if;
        end if;
    exception when sqlstate 'ER422' then
        raise exception 'put_schedule: %', sqlerrm
            using errcode = 'ER422', hint = 'Test it with select * from errand.next_ticks(cron, time_zone).';
    end;
    insert into errand.schedule (
        name, cron, every, kind, payload, time_zone, missed, queue, max_lateness, max_catch_up)
    values (
        put_schedule.name, fresh.cron, fresh.every, put_schedule.kind, put_schedule.payload, put_schedule.time_zone,
        put_schedule.missed, put_schedule.queue, put_schedule.max_lateness, put_schedule.max_catch_up)
    on conflict (name) do nothing;
    if found then
        perform errand_internal.plan_schedule(put_schedule.name);
        perform errand_internal.record_action('put_schedule', asked || (
            select jsonb_build_object('cron', status.cron)
            from errand.schedules as status
            where status.name = put_schedule.name
                -- In repeatable read, one that another session has dropped since is still there.
                and status.created_at = now()));
        return 'created';
    end if;
    select * into old from errand.schedule as existing where existing.name = put_schedule.name for update;
    is_same_clock := (old.cron, old.every, old.time_zone)
        is not distinct from (fresh.cron, fresh.every, put_schedule.time_zone);
    if is_same_clock
        and (old.kind, old.payload, old.missed, old.queue, old.max_lateness, old.max_catch_up)
            is not distinct from (
                put_schedule.kind, put_schedule.payload, put_schedule.missed, put_schedule.queue,
                put_schedule.max_lateness, put_schedule.max_catch_up)
    then
        return 'unchanged';
    end if;
    update errand.schedule as existing
    set
        cron = fresh.cron, every = fresh.every, time_zone = put_schedule.time_zone, kind = put_schedule.kind,
        payload = put_schedule.payload, missed = put_schedule.missed, queue = put_schedule.queue,
        max_lateness = put_schedule.max_lateness, max_catch_up = put_schedule.max_catch_up,
        changed_at = now(),
        -- New times apply to the future: none of them was missed.
        last_tick = case when is_same_clock then existing.last_tick else greatest(existing.last_tick, now()) end,
        last_local = case when is_same_clock then existing.last_local end
    where existing.name = put_schedule.name;
    perform errand_internal.plan_schedule(put_schedule.name);
    perform errand_internal.record_action('put_schedule', asked || (
        select jsonb_build_object('cron', status.cron)
        from errand.schedules as status
        where status.name = put_schedule.name));
    return 'changed';
end
$$;
