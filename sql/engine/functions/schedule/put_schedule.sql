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
-- overlap says what a tick does while the job of an earlier one is unfinished, be it waiting, running or to be retried.
-- allow: it gets its job all the same. skip: it gets none, and is recorded as overlapped. replace: that job is
-- cancelled. With skip and replace its jobs have the unique key `schedule:` and its name.
--
-- With a jitter, up to a day, each job starts within that time after its tick: the same tick always at the same moment.
-- From starts_at on it ticks, and from ends_at on no more. For days without ticks see errand.put_schedule_exception.
-- priority, tags, limit_key and subject are those of its jobs, as errand.enqueue takes them.
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
    max_catch_up int default 100,
    priority int default null,
    tags text[] default null,
    limit_key text default null,
    subject text default null,
    overlap text default 'allow',
    jitter interval default null,
    starts_at timestamptz default null,
    ends_at timestamptz default null
) returns text
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    old errand.schedule;
    fresh errand.schedule;
    fields text := btrim(regexp_replace(put_schedule.cron, E'\\s+', ' ', 'g'));
    is_same_clock boolean;
    -- Without the payload and the subject, which not every reader of errand.audit may see. An interval is added as
    -- people write it: programs give it in microseconds.
    asked jsonb := jsonb_strip_nulls(jsonb_build_object(
        'schedule', put_schedule.name, 'kind', put_schedule.kind, 'time_zone', put_schedule.time_zone,
        'missed', put_schedule.missed, 'queue', put_schedule.queue, 'priority', put_schedule.priority,
        'tags', to_jsonb(put_schedule.tags), 'limit_key', put_schedule.limit_key,
        'overlap', nullif(put_schedule.overlap, 'allow'), 'jitter', put_schedule.jitter::text,
        'starts_at', put_schedule.starts_at, 'ends_at', put_schedule.ends_at));
    key constant jsonb := jsonb_build_object('name', put_schedule.name);
    -- In repeatable read, one that another session has dropped since can't be locked.
    was constant jsonb := errand_internal.setting('schedule', key, locks => false);
begin
    perform errand_internal.check_job(
        put_schedule.kind, put_schedule.payload, put_schedule.queue, put_schedule.priority, null, null,
        'put_schedule');
    perform errand_internal.check_options(
        null, null, null, 'keep', put_schedule.limit_key, null, put_schedule.tags, put_schedule.subject, null,
        'put_schedule');
    if put_schedule.name is null or put_schedule.name !~ '^[a-z][a-z0-9_.-]{0,99}$' then
        raise exception 'put_schedule: name: expected a-z, then up to 99 of a-z 0-9 _ . -, got %',
            coalesce(quote_literal(left(put_schedule.name, 120)), 'null') using errcode = 'ER422';
    elsif put_schedule.missed is null or put_schedule.missed not in ('skip', 'latest', 'all') then
        raise exception 'put_schedule: missed: expected skip, latest or all, got %',
            coalesce(quote_literal(put_schedule.missed), 'null') using errcode = 'ER422';
    elsif put_schedule.max_lateness is null
        or put_schedule.max_lateness not between interval '1 second' and interval '3660 days'
    then
        raise exception 'put_schedule: max_lateness: expected 1 s to 10 years, got %',
            coalesce(put_schedule.max_lateness::text, 'null') using errcode = 'ER422';
    elsif put_schedule.max_catch_up is null or put_schedule.max_catch_up not between 1 and 100000 then
        raise exception 'put_schedule: max_catch_up: expected 1 to 100000, got %',
            coalesce(put_schedule.max_catch_up::text, 'null') using errcode = 'ER422';
    elsif put_schedule.overlap is null or put_schedule.overlap not in ('allow', 'skip', 'replace') then
        raise exception 'put_schedule: overlap: expected allow, skip or replace, got %',
            coalesce(quote_literal(left(put_schedule.overlap, 120)), 'null') using errcode = 'ER422';
    elsif put_schedule.jitter not between interval '0' and interval '1 day' then
        raise exception 'put_schedule: jitter: expected 0 to 1 day, got %', put_schedule.jitter
            using errcode = 'ER422';
    elsif not (isfinite(put_schedule.starts_at) and isfinite(put_schedule.ends_at)) then
        raise exception 'put_schedule: starts_at, ends_at: expected times, got infinity'
            using errcode = 'ER422', hint = 'null means no bound.';
    elsif put_schedule.ends_at <= put_schedule.starts_at then
        raise exception 'put_schedule: ends_at: expected a time after starts_at, got % before it',
            put_schedule.starts_at - put_schedule.ends_at using errcode = 'ER422';
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
    fresh.kind := put_schedule.kind;
    fresh.payload := put_schedule.payload;
    fresh.time_zone := put_schedule.time_zone;
    fresh.missed := put_schedule.missed;
    fresh.queue := put_schedule.queue;
    fresh.max_lateness := put_schedule.max_lateness;
    fresh.max_catch_up := put_schedule.max_catch_up;
    fresh.priority := put_schedule.priority;
    fresh.tags := nullif(put_schedule.tags[:], '{}');
    fresh.limit_key := put_schedule.limit_key;
    fresh.subject := put_schedule.subject;
    fresh.overlap := put_schedule.overlap;
    fresh.jitter := nullif(put_schedule.jitter, interval '0');
    fresh.starts_at := put_schedule.starts_at;
    fresh.ends_at := put_schedule.ends_at;
    insert into errand.schedule (
        name, cron, every, kind, payload, time_zone, missed, queue, max_lateness, max_catch_up, priority, tags,
        limit_key, subject, overlap, jitter, starts_at, ends_at)
    values (
        put_schedule.name, fresh.cron, fresh.every, fresh.kind, fresh.payload, fresh.time_zone, fresh.missed,
        fresh.queue, fresh.max_lateness, fresh.max_catch_up, fresh.priority, fresh.tags, fresh.limit_key,
        fresh.subject, fresh.overlap, fresh.jitter, fresh.starts_at, fresh.ends_at)
    on conflict (name) do nothing;
    if found then
        perform errand_internal.plan_schedule(put_schedule.name);
        perform errand_internal.note_setting(
            errand_internal.record_action('put_schedule', asked || (
                select jsonb_build_object('cron', status.cron)
                from errand.schedules as status
                where status.name = put_schedule.name
                    -- In repeatable read, one that another session has dropped since is still there.
                    and status.created_at = now())),
            'schedule', key, was);
        return 'created';
    end if;
    select * into old from errand.schedule as existing where existing.name = put_schedule.name for update;
    is_same_clock := (old.cron, old.every, old.time_zone, old.starts_at, old.ends_at)
        is not distinct from (fresh.cron, fresh.every, fresh.time_zone, fresh.starts_at, fresh.ends_at);
    if is_same_clock
        and (
            old.kind, old.payload, old.missed, old.queue, old.max_lateness, old.max_catch_up, old.priority, old.tags,
            old.limit_key, old.subject, old.overlap, old.jitter
        ) is not distinct from (
            fresh.kind, fresh.payload, fresh.missed, fresh.queue, fresh.max_lateness, fresh.max_catch_up,
            fresh.priority, fresh.tags, fresh.limit_key, fresh.subject, fresh.overlap, fresh.jitter)
    then
        return 'unchanged';
    end if;
    update errand.schedule as existing
    set
        cron = fresh.cron, every = fresh.every, time_zone = fresh.time_zone, kind = fresh.kind,
        payload = fresh.payload, missed = fresh.missed, queue = fresh.queue, max_lateness = fresh.max_lateness,
        max_catch_up = fresh.max_catch_up, priority = fresh.priority, tags = fresh.tags,
        limit_key = fresh.limit_key, subject = fresh.subject, overlap = fresh.overlap, jitter = fresh.jitter,
        starts_at = fresh.starts_at, ends_at = fresh.ends_at,
        changed_at = now(),
        -- New times apply to the future: none of them was missed.
        last_tick = case when is_same_clock then existing.last_tick else greatest(existing.last_tick, now()) end,
        last_local = case when is_same_clock then existing.last_local end
    where existing.name = put_schedule.name;
    perform errand_internal.plan_schedule(put_schedule.name);
    perform errand_internal.note_setting(
        errand_internal.record_action('put_schedule', asked || (
            select jsonb_build_object('cron', status.cron)
            from errand.schedules as status
            where status.name = put_schedule.name)),
        'schedule', key, was);
    return 'changed';
end
$$;
