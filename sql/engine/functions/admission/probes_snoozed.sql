-- probes_snoozed: closes the circuits that these jobs have probed. A probe that is snoozed, or waits for a signal, has
-- run without finding its service down. Without this, a job that always snoozes before its end would never close the
-- circuit, and one that waits would keep it open for as long.
--
-- Maintenance locks a circuit's row for a moment. If another session locks it for more than 100 ms, the circuit
-- stays open until the next probe.
create or replace function errand_internal.probes_snoozed(ids bigint[]) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    probed text;
    before text := current_setting('lock_timeout');
begin
    for probed in
        select name
        from errand.circuit
        where opened_at is not null and probe_job_id = any (ids)
        order by name
    loop
        begin
            perform set_config('lock_timeout', '100ms', true);
            perform errand_internal.circuit_closed(probed);
            perform set_config('lock_timeout', before, true);
        exception
            when lock_not_available then
                null;
        end;
    end loop;
end
$$;
