-- circuit_failed: counts failures of a circuit, and opens it after too many failures in the window. If
-- the handler names a time (until), the circuit opens at once.
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
    known errand.circuit;
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
    select * into known from errand.circuit where circuit.name = circuit_failed.name for update skip locked;
    if not found then
        return;
    end if;
    if (known.failing_since between present - known.threshold_window and present) is not true then
        known.failing_since := present;
        known.failures := 0;
    end if;
    known.failures := known.failures + circuit_failed.failures;
    -- From before the server's clock was set back.
    if known.failed_at > present and known.opened_by <> 'ops' then
        known.until := present;
    end if;
    if known.opened_at is null and (circuit_failed.until is not null or known.failures >= known.threshold) then
        known.opened_at := present;
        known.opened_by := case when circuit_failed.until is not null then 'handler' else 'failures' end;
        known.until := present;
    end if;
    -- A circuit that an operator opened without an end stays open until an operator closes it.
    if known.opened_at is not null and known.until is not null then
        known.until := greatest(
            known.until, circuit_failed.until,
            case when known.probe_job_id is not null then least(known.released_at, present) else present end
                + known.probe_every);
    end if;
    is_tried := exists (
        select from errand.job where id = known.probe_job_id and coalesce(queue_position, 0) = known.probe_position);
    update errand.circuit
    set opened_at = known.opened_at, opened_by = known.opened_by, until = known.until, failures = known.failures,
        failing_since = known.failing_since, failed_at = present,
        reason = case when known.opened_by = 'ops' then circuit.reason else left(circuit_failed.reason, 1000) end,
        probe_job_id = case when is_tried then known.probe_job_id end,
        probe_position = case when is_tried then known.probe_position end
    where circuit.name = known.name;
end
$$;
