-- circuits: the circuit breakers, their states, and how many jobs wait for each.
-- errand: for ops, monitor
-- errand: topic pause, circuits
create or replace view errand.circuits as
select
    circuit.name,
    case
        when circuit.opened_at is null then 'closed' when circuit.probe_job_id is not null then 'half_open' else 'open'
    end as state,
    circuit.opened_at,
    circuit.opened_by,
    circuit.until,
    case when circuit.opened_by = 'ops' or (select errand_internal.sees_content()) then circuit.reason end as reason,
    circuit.failures,
    circuit.failed_at,
    circuit.closed_at,
    circuit.probe_job_id,
    parked.jobs as parked,
    parked.jobs >= 10000 as is_more,
    parked.oldest_due_at
from errand.circuit
cross join lateral (
    select count(*) as jobs, min(run_at) as oldest_due_at
    from (
        select run_at
        from errand.job
        where parked_for = 'circuit:' || circuit.name
        limit 10000) as waiting
) as parked;
comment on view errand.circuits is
    'The circuit breakers: closed, open or half_open; since when, why, and how many jobs wait (counted up to 10,000)';
comment on column errand.circuits.name is 'the circuit''s name';
comment on column errand.circuits.state is 'closed, open, or half_open: a job probes it';
comment on column errand.circuits.opened_at is 'when it opened';
comment on column errand.circuits.opened_by is 'ops, failures or handler';
comment on column errand.circuits.until is 'when a job may probe it';
comment on column errand.circuits.reason is 'the latest reason';
comment on column errand.circuits.failures is 'number of failures in the current window';
comment on column errand.circuits.failed_at is 'the last failure';
comment on column errand.circuits.closed_at is 'when it last closed';
comment on column errand.circuits.probe_job_id is 'the job that probes it';
comment on column errand.circuits.parked is 'jobs that wait for it, counted up to 10,000';
comment on column errand.circuits.is_more is 'whether there are more than that';
comment on column errand.circuits.oldest_due_at is 'since when the oldest of these is due';
