-- probe_state: returns the state of the job that probes a circuit: under way, succeeded, failed, or open if it says
-- nothing (handed back, rescued, cancelled, discarded).
--
-- A probe that waits in the queue counts as under way for 10 s. Then its queue may be paused, full or without a worker,
-- and another job tries.
create or replace function errand_internal.probe_state(circuit errand.circuit) returns text
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    probe errand.job;
begin
    select * into probe from errand.job where id = circuit.probe_job_id;
    if found then
        return case
            when probe.queue_position = circuit.probe_position and (
                probe.state = 'running'
                or circuit.released_at between clock_timestamp() - interval '10 seconds' and clock_timestamp())
                then 'under way'
            -- The probe is parked again if it found the service down while another session had locked that row.
            when probe.state = 'scheduled' or probe.parked_for = 'circuit:' || circuit.name then 'failed'
            else 'open'
        end;
    end if;
    return case errand_internal.state_of(circuit.probe_job_id)
        when 'succeeded' then 'succeeded'
        when 'failed' then 'failed'
        else 'open'
    end;
end
$$;
