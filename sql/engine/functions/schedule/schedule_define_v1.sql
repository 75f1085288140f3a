-- schedule_define_v1: applies a program's definition of a schedule, unless the same definition was applied before.
--
-- So a change by errand.put_schedule lasts until the program's own definition changes. The arguments are those of
-- errand.put_schedule; app is the app whose schedule it is, which errand migrate defines. Returns created, changed or
-- unchanged.
--
-- Raises ER409 for a schedule that only SQL, another existing login or an app has defined, and for one of another kind:
-- a stolen login can't change the schedules of other programs.
create or replace function errand_internal.schedule_define_v1(
    name text, cron text, kind text, payload jsonb, time_zone text, missed text, queue text, max_lateness interval,
    max_catch_up int, app text default null, priority int default null, tags text[] default null,
    limit_key text default null, subject text default null, overlap text default 'allow',
    jitter interval default null, starts_at timestamptz default null, ends_at timestamptz default null
) returns text
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    defined jsonb := jsonb_build_object(
        'cron', schedule_define_v1.cron, 'kind', schedule_define_v1.kind, 'payload', schedule_define_v1.payload,
        'time_zone', schedule_define_v1.time_zone, 'missed', schedule_define_v1.missed,
        'queue', schedule_define_v1.queue, 'max_lateness', schedule_define_v1.max_lateness,
        'max_catch_up', schedule_define_v1.max_catch_up, 'priority', schedule_define_v1.priority,
        'tags', to_jsonb(schedule_define_v1.tags), 'limit_key', schedule_define_v1.limit_key,
        'subject', schedule_define_v1.subject, 'overlap', schedule_define_v1.overlap,
        'jitter', schedule_define_v1.jitter, 'starts_at', schedule_define_v1.starts_at,
        'ends_at', schedule_define_v1.ends_at);
    existing errand.schedule;
    outcome text;
begin
    if exists (
        select from errand.schedule as same where same.name = schedule_define_v1.name and same.definition = defined)
    then
        return 'unchanged';
    end if;
    select * into existing from errand.schedule as target where target.name = schedule_define_v1.name;
    if found and existing.app is distinct from schedule_define_v1.app
        or found and existing.app is null and existing.defined_by is distinct from session_user
        and (existing.defined_by is null or to_regrole(quote_ident(existing.defined_by)) is not null)
    then
        raise exception 'schedule_define: schedule %: expected one that % has defined, got one of %',
            quote_literal(existing.name), coalesce(schedule_define_v1.app, session_user),
            coalesce(existing.app, existing.defined_by, 'SQL')
            using errcode = 'ER409',
            hint = format('select errand.drop_schedule(%L) lets the program define it.', existing.name);
    elsif found and existing.kind <> schedule_define_v1.kind then
        raise exception 'schedule_define: schedule %: expected its kind %, got %',
            quote_literal(existing.name), existing.kind, quote_nullable(left(schedule_define_v1.kind, 120))
            using errcode = 'ER409',
            hint = format('select errand.drop_schedule(%L) lets the program define it again.', existing.name);
    end if;
    outcome := errand.put_schedule(
        schedule_define_v1.name, schedule_define_v1.cron, schedule_define_v1.kind, schedule_define_v1.payload,
        schedule_define_v1.time_zone, schedule_define_v1.missed, schedule_define_v1.queue,
        schedule_define_v1.max_lateness, schedule_define_v1.max_catch_up, schedule_define_v1.priority,
        schedule_define_v1.tags, schedule_define_v1.limit_key, schedule_define_v1.subject,
        schedule_define_v1.overlap, schedule_define_v1.jitter, schedule_define_v1.starts_at,
        schedule_define_v1.ends_at);
    update errand.schedule as target
    set definition = defined, defined_by = session_user, app = schedule_define_v1.app
    where target.name = schedule_define_v1.name;
    return outcome;
end
$$;
