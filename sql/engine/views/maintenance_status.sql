-- maintenance_status: when each housekeeping duty was last done, by whom, and how long it took.
create or replace view errand.maintenance_status as
select
    duty.name as duty,
    duty.done_at,
    now() - duty.done_at as silent_for,
    duty.took_ms,
    duty.done_by,
    duty.note,
    duty.done_at < now() - case duty.name
        when 'maintain' then interval '3 hours' when 'schedule' then interval '1 minute' else interval '5 minutes'
    end as is_late
from errand.duty;
comment on view errand.maintenance_status is 'When each housekeeping duty was last done, by whom, how long it took, what it found';
comment on column errand.maintenance_status.duty is
    'stock, rescue, maintain, or schedule: a scheduler looked at the schedules';
comment on column errand.maintenance_status.done_at is 'when it was last begun';
comment on column errand.maintenance_status.silent_for is 'how long ago that is';
comment on column errand.maintenance_status.took_ms is 'how long it took';
comment on column errand.maintenance_status.done_by is 'the program that did it';
comment on column errand.maintenance_status.note is 'what it found';
comment on column errand.maintenance_status.is_late is 'whether it should have been done again by now';
