-- record_task: records the run of a maintenance task.
create or replace function errand_internal.record_task(name text, began timestamptz, note text default null)
returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    insert into errand.maintenance_task (name, done_at, took_ms, done_by, note)
    values (
        name, began, extract(epoch from clock_timestamp() - began) * 1000,
        coalesce(nullif(current_setting('application_name', true), ''), 'unnamed'), note)
    on conflict on constraint maintenance_task_pkey do update
    set done_at = excluded.done_at, took_ms = excluded.took_ms, done_by = excluded.done_by, note = excluded.note
$$;
