-- schedule_ticks: the ticks of the last week and their outcomes.
--
--   select * from errand.schedule_ticks where schedule = 'daily_report' order by tick desc limit 10;
--
-- outcome is one of
--   enqueued    its job was enqueued in time
--   late        it was missed, and enqueued later
--   coalesced   it was missed, and the job of a later tick covers it
--   skipped     it was missed, and has no job
--   overlapped  the job of an earlier tick was unfinished, so it has no job
--   excepted    it was on a day without ticks, and has no job
--   paused      its schedule was paused
--   by hand     an operator called errand.run_schedule
-- errand: for ops, monitor
-- errand: topic schedules
create or replace view errand.schedule_ticks as
select
    past.schedule,
    past.tick,
    past.tick at time zone coalesce(schedule.time_zone, 'UTC') as local,
    past.outcome,
    past.job_id,
    past.enqueued_at as recorded_at,
    case when past.outcome <> 'by hand' then past.enqueued_at - past.tick end as lateness,
    past.reason
from errand.tick as past
left join errand.schedule on schedule.name = past.schedule;
comment on view errand.schedule_ticks is
    'The ticks of the last week: schedule, outcome, job, and how late each was recorded';
comment on column errand.schedule_ticks.schedule is 'the schedule''s name';
comment on column errand.schedule_ticks.tick is 'the moment of the tick; by hand: the time of the call';
comment on column errand.schedule_ticks.local is 'the same on the schedule''s clock';
comment on column errand.schedule_ticks.outcome is
    'enqueued, late, coalesced, skipped, overlapped, excepted, paused or by hand';
comment on column errand.schedule_ticks.job_id is 'its job; null if it has none';
comment on column errand.schedule_ticks.recorded_at is 'when a scheduler recorded it';
comment on column errand.schedule_ticks.lateness is 'from the tick to then; null for by hand';
comment on column errand.schedule_ticks.reason is
    'for by hand and excepted: why, in the words of the operator';
