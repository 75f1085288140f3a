-- store_schedule: stores a schedule of an app whose kind has its name, for errand migrate.
-- errand: after schedule_define_v1
create or replace function errand_internal.store_schedule(app text, name text, cron text) returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    select errand_internal.schedule_define_v1(
        store_schedule.name, cron, store_schedule.name, '{}', 'UTC', 'latest', null, interval '1 minute', 100, app)
$$;
