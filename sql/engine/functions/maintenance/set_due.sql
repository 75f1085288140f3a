-- set_due: sets when the next run of a maintenance task is due, for all sessions and at once: a failure of this
-- transaction doesn't undo it. It takes no transaction id and leaves no dead row.
create or replace function errand_internal.set_due(task text, wait interval) returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    select setval(
        ('errand.' || task || '_due')::regclass,
        (extract(epoch from clock_timestamp() + wait) * 1000000)::bigint)
$$;
