-- schedule_define_v1: takes over a schedule that the program defines, unless the same definition was taken over before.
--
-- So what ops change by errand.schedule_put lasts, until the program's own definition becomes another one. The arguments
-- are those of errand.schedule_put. Returns created, changed or unchanged.
create or replace function errand.schedule_define_v1(
    name text, cron text, kind text, payload jsonb, time_zone text, missed text, queue text, max_lateness interval,
    max_catch_up int
) returns text
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    defined jsonb := jsonb_build_object(
        'cron', schedule_define_v1.cron, 'kind', schedule_define_v1.kind, 'payload', schedule_define_v1.payload,
        'time_zone', schedule_define_v1.time_zone, 'missed', schedule_define_v1.missed,
        'queue', schedule_define_v1.queue, 'max_lateness', schedule_define_v1.max_lateness,
        'max_catch_up', schedule_define_v1.max_catch_up);
    outcome text;
begin
    if exists (
        select from errand.schedule as held where held.name = schedule_define_v1.name and held.definition = defined)
    then
        return 'unchanged';
    end if;
    outcome := errand.schedule_put(
        schedule_define_v1.name, schedule_define_v1.cron, schedule_define_v1.kind, schedule_define_v1.payload,
        schedule_define_v1.time_zone, schedule_define_v1.missed, schedule_define_v1.queue,
        schedule_define_v1.max_lateness, schedule_define_v1.max_catch_up);
    update errand.schedule as held set definition = defined where held.name = schedule_define_v1.name;
    return outcome;
end
$$;
comment on function errand.schedule_define_v1(text, text, text, jsonb, text, text, text, interval, int) is
    'For the scheduler: takes over a schedule that the program defines, unless that definition was taken over before';
