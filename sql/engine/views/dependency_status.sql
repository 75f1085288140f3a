-- dependency_status: the dependencies, whether they are up, and how many jobs wait for each.
-- errand: for ops, monitor
-- errand: topic pause, dependencies
create or replace view errand.dependency_status as
select
    known.name,
    case
        when known.opened_at is null then 'up' when known.probe_job_id is not null then 'tried' else 'down'
    end as state,
    known.opened_at,
    known.opened_by,
    known.until,
    case when known.opened_by = 'ops' or (select errand.sees_content()) then known.reason end as reason,
    known.failures,
    known.failed_at,
    known.closed_at,
    known.probe_job_id,
    parked.jobs as parked,
    parked.jobs >= 10000 as is_more,
    parked.oldest_due_at
from errand.dependency as known
cross join lateral (
    select count(*) as jobs, min(run_at) as oldest_due_at
    from (
        select run_at
        from errand.job
        where parked_for = 'dependency:' || known.name
        limit 10000) as waiting
) as parked;
comment on view errand.dependency_status is
    'The dependencies: up, down or probed; since when, why, and how many jobs wait (counted up to 10,000)';
comment on column errand.dependency_status.name is 'the dependency''s name';
comment on column errand.dependency_status.state is 'up, down, or tried: a job probes it';
comment on column errand.dependency_status.opened_at is 'when it went down';
comment on column errand.dependency_status.opened_by is 'ops, failures or handler';
comment on column errand.dependency_status.until is 'when a job may probe it';
comment on column errand.dependency_status.reason is 'the latest reason';
comment on column errand.dependency_status.failures is 'number of failures in the current window';
comment on column errand.dependency_status.failed_at is 'the last failure';
comment on column errand.dependency_status.closed_at is 'when it came up again';
comment on column errand.dependency_status.probe_job_id is 'the job that probes it';
comment on column errand.dependency_status.parked is 'jobs that wait for it, counted up to 10,000';
comment on column errand.dependency_status.is_more is 'whether there are more than that';
comment on column errand.dependency_status.oldest_due_at is 'since when the oldest of these is due';
