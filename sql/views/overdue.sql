-- overdue: what should have happened by now and has not: a row a queue, kind or schedule, not a job.
-- errand: after queue_status, kind_status, schedule_status
create or replace view errand.overdue as
select
    'queue' as what,
    queue as name,
    oldest_due_at as since,
    oldest_age as late_by,
    format('its oldest job has been due for %s s', round(extract(epoch from oldest_age))) as detail,
    case
        when paused_at is not null then format('select errand.resume(%L)', queue)
        when workers = 0 then 'no live worker claims from it: start one'
        else 'select * from errand.explain(…) of one of its jobs'
    end as hint
from errand.queue_status
where oldest_age > interval '5 minutes'
union all
select
    'kind', kind, null, null,
    case waiting when 1 then '1 job waits' else format('%s jobs wait', waiting) end || ', and no live worker knows the kind',
    'start a worker of a version that has it'
from errand.kind_status
where waiting > 0 and workers = 0
union all
select 'schedule', name, next_tick, now() - next_tick, problem, 'select * from errand.schedule_status'
from errand.schedule_status
where problem is not null and paused_at is null
union all
select
    'promotion', 'scheduled jobs', run_at, now() - run_at, format('job %s is due and nobody has put it in line', id),
    'does any worker or scheduler run?'
from (
    select id, run_at
    from errand.job
    where line is null and parked_for is null and run_at < now() - interval '1 minute'
        and isfinite(run_at)
    order by run_at
    limit 1) as waiting;
comment on view errand.overdue is
    'What should have happened by now: queues whose oldest job is due for 5 minutes, kinds without workers, late schedules';
comment on column errand.overdue.what is 'queue, kind, schedule or promotion';
comment on column errand.overdue.name is 'its name';
comment on column errand.overdue.since is 'since when it should have happened';
comment on column errand.overdue.late_by is 'how long that is';
comment on column errand.overdue.detail is 'what is late';
comment on column errand.overdue.hint is 'where to look or what to do';
