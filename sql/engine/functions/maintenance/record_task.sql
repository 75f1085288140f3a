-- record_task: records the run of a maintenance task, unless another session has locked its row.
create or replace function errand_internal.record_task(name text, began timestamptz, note text default null)
returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    update errand.maintenance_task
    set
        done_at = began, took_ms = extract(epoch from clock_timestamp() - began) * 1000,
        done_by = coalesce(nullif(current_setting('application_name', true), ''), 'unnamed'), note = record_task.note
    where ctid in (
        select existing.ctid from errand.maintenance_task as existing where existing.name = record_task.name
        for update skip locked)
$$;
