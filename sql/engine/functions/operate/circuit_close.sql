-- circuit_close: closes a circuit: its service is up again. Parked jobs are released oldest first, 100 in
-- the first second and more in each next one.
--
--   select errand.circuit_close('storage');
--
-- Returns whether the circuit was open. Raises ER422 for a name that no circuit can have.
-- errand: for ops
-- errand: topic circuits
create or replace function errand.circuit_close(name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    was_open boolean;
    key constant jsonb := jsonb_build_object('name', circuit_close.name);
    was constant jsonb := errand_internal.setting('circuit', key);
begin
    perform errand_internal.check_circuit('circuit_close', circuit_close.name);
    select opened_at is not null into was_open
    from errand.circuit
    where circuit.name = circuit_close.name
    for update;
    if coalesce(was_open, false) then
        perform errand_internal.circuit_closed(circuit_close.name);
        perform errand_internal.note_setting(
            errand_internal.record_action('circuit_close', jsonb_build_object('name', circuit_close.name)),
            'circuit', key, was);
    end if;
    return coalesce(was_open, false);
end
$$;
