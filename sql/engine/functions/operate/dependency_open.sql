-- dependency_open: what jobs need from outside counts as down: from now on those that need it park, and spend no attempts.
--
--   select errand.dependency_open('storage', now() + interval '10 minutes', 'bucket is being moved');
--
-- From until on one job at a time may try it; where one succeeds it is closed. Without until it stays open until
-- errand.dependency_close. What runs already goes on. Raises ER422 for a name out of bounds
-- and without a reason.
create or replace function errand.dependency_open(name text, until timestamptz, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    perform errand.check_dependency('dependency_open', dependency_open.name);
    perform errand.check_reason('dependency_open', dependency_open.reason);
    insert into errand.dependency as known (name, opened_at, opened_by, until, reason)
    values (dependency_open.name, now(), 'ops', dependency_open.until, dependency_open.reason)
    on conflict on constraint dependency_pkey do update
    set opened_at = coalesce(known.opened_at, excluded.opened_at), opened_by = excluded.opened_by, until = excluded.until,
        reason = excluded.reason, probe_job_id = null, probe_position = null;
    perform errand.record_action(
        'dependency_open',
        jsonb_strip_nulls(jsonb_build_object('name', dependency_open.name, 'until', dependency_open.until)),
        dependency_open.reason);
end
$$;
comment on function errand.dependency_open(text, timestamptz, text) is
    'Jobs that need it park from now on. Example: select errand.dependency_open(''storage'', null, ''bucket moves'')';
