-- circuit_open: opens a circuit: its service is down. From now on its jobs park and spend no attempts.
--
--   select errand.circuit_open('storage', 'bucket is being moved', now() + interval '10 minutes');
--
-- From `until` on, one job at a time probes the service, and a success closes the circuit. With until = null it
-- stays open until errand.circuit_close. Running jobs go on. Raises ER422 for a name that no circuit can have,
-- without a reason, and for a time more than 10 years away.
-- errand: for ops
-- errand: topic circuits
create or replace function errand.circuit_open(name text, reason text, until timestamptz default null) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('name', circuit_open.name);
    was constant jsonb := errand_internal.setting('circuit', key);
begin
    perform errand_internal.check_circuit('circuit_open', circuit_open.name);
    perform errand_internal.check_reason('circuit_open', circuit_open.reason);
    perform errand_internal.check_time(circuit_open.until, 'circuit_open', 'until');
    insert into errand.circuit as existing (name, opened_at, opened_by, until, reason)
    values (circuit_open.name, now(), 'ops', circuit_open.until, circuit_open.reason)
    on conflict on constraint circuit_pkey do update
    set opened_at = coalesce(existing.opened_at, excluded.opened_at), opened_by = excluded.opened_by,
        until = excluded.until,
        reason = excluded.reason, probe_job_id = null, probe_position = null;
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'circuit_open',
            jsonb_strip_nulls(jsonb_build_object('name', circuit_open.name, 'until', circuit_open.until)),
            circuit_open.reason),
        'circuit', key, was);
end
$$;
