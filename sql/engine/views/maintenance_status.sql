-- maintenance_status: when each housekeeping duty was last done, by whom, and how long it took.
create or replace view errand.maintenance_status as
select
    maintenance_task.name as task,
    maintenance_task.done_at,
    now() - maintenance_task.done_at as silent_for,
    maintenance_task.took_ms,
    maintenance_task.done_by,
    maintenance_task.note,
    maintenance_task.done_at < now() - case maintenance_task.name
        when 'maintain' then interval '3 hours' when 'schedule' then interval '1 minute' else interval '5 minutes'
    end as is_late
from errand.maintenance_task;
comment on view errand.maintenance_status is 'When each housekeeping duty was last done, by whom, how long it took, what it found';
comment on column errand.maintenance_status.task is
    'statistics, rescue, maintain, or schedule: a scheduler looked at the schedules';
comment on column errand.maintenance_status.done_at is 'when it was last begun';
comment on column errand.maintenance_status.silent_for is 'how long ago that is';
comment on column errand.maintenance_status.took_ms is 'how long it took';
comment on column errand.maintenance_status.done_by is 'the program that did it';
comment on column errand.maintenance_status.note is 'what it found';
comment on column errand.maintenance_status.is_late is 'whether it should have been done again by now';
