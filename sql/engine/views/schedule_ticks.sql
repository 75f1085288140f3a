-- schedule_ticks: a row a tick of the last week, and what became of it.
--
--   select * from errand.schedule_ticks where schedule = 'quote_of_the_day' order by tick desc limit 10;
--
-- outcome is enqueued: its job went in line in time; late: it was missed, and made up for; coalesced: it was missed, and
-- a later tick's job stands for it; skipped: it was missed, and not made up for; paused: its schedule was paused; by
-- hand: somebody asked for it by errand.schedule_run_now.
create or replace view errand.schedule_ticks as
select
    past.schedule,
    past.tick,
    past.tick at time zone coalesce(known.time_zone, 'UTC') as local,
    past.outcome,
    past.job_id,
    past.enqueued_at as recorded_at,
    case when past.outcome <> 'by hand' then past.enqueued_at - past.tick end as lateness,
    past.reason
from errand.tick as past
left join errand.schedule as known on known.name = past.schedule;
comment on view errand.schedule_ticks is
    'A row a tick of the last week: its schedule, what became of it, its job, how late it was settled';
comment on column errand.schedule_ticks.schedule is 'the schedule''s name';
comment on column errand.schedule_ticks.tick is 'the moment that the schedule names; by hand: when somebody asked';
comment on column errand.schedule_ticks.local is 'the same on the schedule''s clock';
comment on column errand.schedule_ticks.outcome is 'enqueued, late, coalesced, skipped, paused or by hand';
comment on column errand.schedule_ticks.job_id is 'the job that it gave; null where it gave none';
comment on column errand.schedule_ticks.recorded_at is 'when a scheduler got to it';
comment on column errand.schedule_ticks.lateness is 'from the tick to then; null by hand';
comment on column errand.schedule_ticks.reason is 'by hand: why, in the words of who asked';
