-- next_probe: returns the parked job that probes a circuit next: of the first 10,000, the first that can start, and
-- not in the queue of the probe before, which has not started.
-- errand: after may_start
create or replace function errand_internal.next_probe(circuit errand.circuit) returns bigint
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    with ahead as materialized (
        select id, queue, kind, priority, run_at
        from errand.job
        where parked_for = 'circuit:' || circuit.name
        order by priority, run_at, id
        limit 10000
    ),
    preference as materialized (
        select
            queue, kind,
            errand_internal.may_start(queue, kind) as starts,
            queue = (select job.queue from errand.job where job.id = circuit.probe_job_id) as is_same
        from (select distinct queue, kind from ahead) as one
    )
    select ahead.id
    from ahead
    join preference using (queue, kind)
    where not exists (select from errand.queue as existing where existing.name = ahead.queue
        and existing.paused_at is not null)
    order by preference.starts desc, preference.is_same is true, ahead.priority, ahead.run_at, ahead.id
    limit 1
$$;
