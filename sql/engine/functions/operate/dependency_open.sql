-- dependency_open: opens the circuit of a dependency: it is down. From now on its jobs park and spend no attempts.
--
--   select errand.dependency_open('storage', now() + interval '10 minutes', 'bucket is being moved');
--
-- From `until` on, one job at a time probes the dependency, and a success closes the circuit. With until = null it
-- stays open until errand.dependency_close. Running jobs go on. Raises ER422 for a name that no dependency can have,
-- without a reason, and for a time more than 10 years away.
-- errand: for ops
-- errand: topic dependencies
create or replace function errand.dependency_open(name text, until timestamptz, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    perform errand.check_dependency('dependency_open', dependency_open.name);
    perform errand.check_reason('dependency_open', dependency_open.reason);
    perform errand.check_time(dependency_open.until, 'dependency_open', 'until');
    insert into errand.dependency as known (name, opened_at, opened_by, until, reason)
    values (dependency_open.name, now(), 'ops', dependency_open.until, dependency_open.reason)
    on conflict on constraint dependency_pkey do update
    set opened_at = coalesce(known.opened_at, excluded.opened_at), opened_by = excluded.opened_by,
        until = excluded.until,
        reason = excluded.reason, probe_job_id = null, probe_position = null;
    perform errand.record_action(
        'dependency_open',
        jsonb_strip_nulls(jsonb_build_object('name', dependency_open.name, 'until', dependency_open.until)),
        dependency_open.reason);
end
$$;
