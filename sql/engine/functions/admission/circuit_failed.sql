-- circuit_failed: counts failures of a circuit, and opens it after too many failures in the window. If
-- the handler names a time (until), the circuit opens at once; if that is infinity, an operator has to close it.
--
-- While the circuit is open because of failures, each further failure postpones the next probe. A running or waiting
-- probe goes on. The time to the next probe counts from the start of the one that failed, so a service that accepts
-- no connection is probed as often as one that refuses.
--
-- If another session has locked the circuit's row, nothing is counted and nothing waits.
create or replace function errand_internal.circuit_failed(
    name text, until timestamptz, reason text, failures int default 1
) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.circuit;
    present timestamptz := clock_timestamp();
    is_tried boolean;
    before text := current_setting('lock_timeout');
begin
    if not exists (select from errand.circuit where circuit.name = circuit_failed.name) then
        begin
            perform set_config('lock_timeout', '100ms', true);
            insert into errand.circuit (name) values (circuit_failed.name)
            on conflict on constraint circuit_pkey do nothing;
            perform set_config('lock_timeout', before, true);
        exception
            -- Another session inserts the same row.
            when lock_not_available then
                return;
        end;
    end if;
    select * into existing from errand.circuit where circuit.name = circuit_failed.name for update skip locked;
    if not found then
        return;
    end if;
    if (existing.failing_since between present - existing.threshold_window and present) is not true then
        existing.failing_since := present;
        existing.failures := 0;
    end if;
    existing.failures := existing.failures + circuit_failed.failures;
    -- From before the server's clock was set back.
    if existing.failed_at > present and existing.opened_by <> 'ops' then
        existing.until := present;
    end if;
    if existing.opened_at is null and (circuit_failed.until is not null or existing.failures >= existing.threshold) then
        existing.opened_at := present;
        existing.opened_by := case when circuit_failed.until is not null then 'handler' else 'failures' end;
        existing.until := present;
    end if;
    -- A circuit without an end stays open until an operator closes it.
    if circuit_failed.until = 'infinity' then
        existing.until := null;
    elsif existing.opened_at is not null and existing.until is not null then
        existing.until := greatest(
            existing.until, circuit_failed.until,
            case when existing.probe_job_id is not null then least(existing.released_at, present) else present end
                + existing.probe_every);
    end if;
    is_tried := exists (
        select from errand.job where id = existing.probe_job_id
            and coalesce(queue_position, 0) = existing.probe_position);
    update errand.circuit
    set opened_at = existing.opened_at, opened_by = existing.opened_by, until = existing.until,
        failures = existing.failures,
        failing_since = existing.failing_since, failed_at = present,
        reason = case when existing.opened_by = 'ops' then circuit.reason else left(circuit_failed.reason, 1000) end,
        probe_job_id = case when is_tried then existing.probe_job_id end,
        probe_position = case when is_tried then existing.probe_position end
    where circuit.name = existing.name;
end
$$;
