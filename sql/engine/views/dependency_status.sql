-- dependency_status: what jobs need from outside, whether it counts as up, and how many jobs wait for it.
create or replace view errand.dependency_status as
select
    known.name,
    case when known.opened_at is null then 'up' when known.probe_job_id is not null then 'tried' else 'down' end as state,
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
    'What jobs need from outside: up, down or just tried; since when, why, and how many jobs wait (counted up to 10,000)';
comment on column errand.dependency_status.name is 'names the dependency';
comment on column errand.dependency_status.state is 'up, down, or tried: one job finds out';
comment on column errand.dependency_status.opened_at is 'since when it counts as down';
comment on column errand.dependency_status.opened_by is 'ops, failures or handler';
comment on column errand.dependency_status.until is 'when it is tried';
comment on column errand.dependency_status.reason is 'what was last said about it';
comment on column errand.dependency_status.failures is 'failures within the present window';
comment on column errand.dependency_status.failed_at is 'the last failure';
comment on column errand.dependency_status.closed_at is 'since when it counts as up again';
comment on column errand.dependency_status.probe_job_id is 'the job that tries it';
comment on column errand.dependency_status.parked is 'jobs that wait for it, counted up to 10,000';
comment on column errand.dependency_status.is_more is 'whether there are more than that';
comment on column errand.dependency_status.oldest_due_at is 'since when the longest waiting one is due';
