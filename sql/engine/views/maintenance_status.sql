-- maintenance_status: the last run of each maintenance task, who did it, and how long it took.
-- errand: for ops, monitor
-- errand: topic health, retention
create or replace view errand.maintenance_status as
select
    maintenance_task.name as task,
    maintenance_task.done_at,
    case when maintenance_task.done_at <= clock_timestamp() then now() - maintenance_task.done_at end as silent_for,
    maintenance_task.took_ms,
    maintenance_task.done_by,
    maintenance_task.note,
    maintenance_task.done_at not between now() - greatest(3 * maintenance_task.longest_wait, interval '1 minute')
        and clock_timestamp() as is_late
from errand.maintenance_task
where maintenance_task.done_at is not null;
comment on view errand.maintenance_status is
    'The last run of each maintenance task, who did it, how long it took, and its result';
comment on column errand.maintenance_status.task is
    'promote, promote_late (jobs whose transaction committed late), crashed (jobs that were in two crashes), release '
    '(parked jobs), rescue (jobs of lost workers), unlisted (running jobs that no record names), bulk, statistics, '
    'partitions, prune, or schedule (a scheduler read the schedules)';
comment on column errand.maintenance_status.done_at is
    'start of the last run; or when it was probed last and had nothing to do, to half a minute';
comment on column errand.maintenance_status.silent_for is
    'how long ago that is; null = in the future, so from before the server''s clock was set back';
comment on column errand.maintenance_status.took_ms is 'how long it took';
comment on column errand.maintenance_status.done_by is 'application_name of the program';
comment on column errand.maintenance_status.note is 'its result';
comment on column errand.maintenance_status.is_late is 'whether the next run is late';
