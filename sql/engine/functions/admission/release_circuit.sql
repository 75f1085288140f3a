-- release_circuit: releases jobs that a circuit has parked. While the circuit is open, one job at a time probes
-- it, from `until` on. A success of the probe closes the circuit, as errand_internal.probes_snoozed does. While it is
-- closed, jobs are released oldest first: 100/s in the first second, twice that in each next one, up to 2,000/s.
--
-- If no job is left that could probe it, the circuit closes at `until`, and later jobs open it again if they have to.
--
-- A probe comes first in its queue. A circuit whose row is gone, for example because the transaction that opened it
-- was rolled back, is up, and its jobs are released at 100/s.
--
-- A time in the future was written before the server's clock was set back, and is ignored.
--
-- Maintenance calls it every 200 ms. Returns the number of released jobs.
create or replace function errand_internal.release_circuit(name text) returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.circuit;
    present timestamptz := clock_timestamp();
    per_second double precision;
    elapsed double precision;
    wanted int;
    probe text;
    probe_id bigint;
    waiting bigint;
    drawn bigint;
    released int := 0;
begin
    select * into existing from errand.circuit where circuit.name = release_circuit.name for update skip locked;
    if not found then
        if exists (select from errand.circuit where circuit.name = release_circuit.name) then
            -- Another session is at it.
            return 0;
        end if;
        existing.name := release_circuit.name;
    end if;
    if existing.opened_at is not null and existing.name like 'kind:%' and existing.until <= present then
        -- The pause of a kind ends at its time, without a probe.
        perform errand_internal.circuit_closed(existing.name);
        existing.opened_at := null;
        existing.closed_at := present;
        existing.released_at := null;
        existing.failures := 0;
    elsif existing.opened_at is not null and existing.probe_job_id is not null then
        probe := errand_internal.probe_state(existing);
        if probe = 'under way' then
            return 0;
        elsif probe = 'succeeded' then
            perform errand_internal.circuit_closed(existing.name);
            existing.opened_at := null;
            existing.closed_at := present;
            existing.released_at := null;
            existing.failures := 0;
        elsif probe = 'failed' and existing.until < present + existing.probe_every then
            existing.until := present + existing.probe_every;
            update errand.circuit
            set until = existing.until, probe_job_id = null, probe_position = null
            where circuit.name = existing.name;
        end if;
    end if;
    if existing.opened_at is not null and existing.opened_by <> 'ops' and existing.until <= present
        and not exists (
            select from errand.job where parked_for = 'circuit:' || existing.name or id = existing.probe_job_id)
    then
        -- They were cancelled, or ended without a use of the service.
        perform errand_internal.circuit_closed(existing.name);
        return 0;
    end if;
    if existing.opened_at is not null then
        -- An operator's end stays as it is.
        if existing.until is null
            or existing.until > present and (existing.opened_by = 'ops' or (existing.failed_at > present) is not true)
        then
            return 0;
        end if;
        wanted := 1;
    elsif existing.failures > 0 and existing.failed_at between present - existing.probe_every and present then
        -- Too few failures to open the circuit. The jobs that failed wait for a moment all the same.
        return 0;
    else
        elapsed := coalesce(extract(epoch from present - existing.closed_at), 0);
        per_second := least(2000, 100 * power(2, least(10, floor(greatest(0, elapsed)))));
        elapsed := extract(epoch from present - greatest(existing.released_at, existing.closed_at));
        wanted := ceil(per_second * case when elapsed >= 0 then least(0.5, elapsed) else 0.2 end);
    end if;
    if existing.opened_at is not null then
        probe_id := errand_internal.next_probe(existing);
    end if;
    for waiting in
        select id
        from errand.job
        where parked_for = 'circuit:' || existing.name and (existing.opened_at is null or id = probe_id)
            and not exists (select from errand.queue as target where target.name = job.queue
                and target.paused_at is not null)
        order by priority, run_at, id
        limit wanted
        for update of job skip locked
    loop
        update errand.job
        set state = 'available', parked_for = null,
            is_handed_back = case when existing.opened_at is not null then true else is_handed_back end
        where id = waiting
        returning queue_position into drawn;
        released := released + 1;
    end loop;
    if released > 0 then
        update errand.circuit
        set released_at = present,
            probe_job_id = case when existing.opened_at is not null then waiting end,
            probe_position = case when existing.opened_at is not null then drawn end
        where circuit.name = existing.name;
        perform errand_internal.wake();
    end if;
    return released;
end
$$;
