-- circuit_closed: closes a circuit. Maintenance then releases the parked jobs.
create or replace function errand_internal.circuit_closed(name text) returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    update errand.circuit
    set opened_at = null, until = null, opened_by = null, failures = 0, failing_since = null,
        closed_at = clock_timestamp(), released_at = null, probe_job_id = null, probe_position = null
    where circuit.name = circuit_closed.name
$$;
