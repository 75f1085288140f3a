-- overdue: queues, kinds and schedules that are late, and scheduled jobs that housekeeping has not made available.
--
-- Kinds are by the last statistics, some seconds ago.
-- errand: after queue_status, schedule_status
create or replace view errand.overdue as
select
    'queue' as what,
    queue as name,
    oldest_due_at as since,
    oldest_age as late_by,
    format('its oldest job has been due for %s s', round(extract(epoch from oldest_age))) as detail,
    case
        when paused_at is not null then format('select errand.resume(%L)', queue)
        when workers = 0 then 'no live worker claims from it: start one, or see drained_at in errand.worker_status'
        else 'select * from errand.explain(…) of one of its jobs'
    end as hint
from errand.queue_status
where oldest_age > interval '5 minutes'
union all
select
    'kind', kind, null, null,
    case jobs when 1 then '1 job waits' else format('%s jobs wait', jobs) end
        || case
            when knowing is null then ', and no live worker has the kind'
            else format(
                ' in %s%s, and no live worker of it has the kind', queues[1],
                case when cardinality(queues) > 1 then format(' and %s more queues', cardinality(queues) - 1) end)
        end,
    coalesce(knowing || ' has it, but claims from other queues', 'start a worker of a version that has it')
from (
    select
        job_count.kind,
        sum(job_count.jobs) as jobs,
        array_agg(job_count.queue order by job_count.jobs desc, job_count.queue) as queues,
        (
            select min(worker.name)
            from errand.worker
            where job_count.kind = any (worker.kinds) and worker.heartbeat_at + worker.lease > now()
        ) as knowing,
        bool_or(exists (
            select from errand.worker
            where job_count.queue = any (worker.queues) and worker.heartbeat_at + worker.lease > now()
                and worker.drained_at is null)) as is_served
    from errand.job_count
    where job_count.state = 'available' and job_count.jobs > 0
        and not exists (
            select from errand.worker
            where job_count.queue = any (worker.queues) and job_count.kind = any (worker.kinds)
                and worker.heartbeat_at + worker.lease > now() and worker.drained_at is null)
    group by job_count.kind
) as waiting
-- A queue without workers is late itself.
where knowing is null or is_served
union all
select 'schedule', name, next_tick, now() - next_tick, problem, 'select * from errand.schedule_status'
from errand.schedule_status
where problem is not null and paused_at is null
union all
select
    'promotion', 'scheduled jobs', run_at, now() - run_at, format('job %s is due and not available yet', id),
    'does any worker or scheduler run?'
from (
    select id, run_at
    from errand.job
    where queue_position is null and parked_for is null and run_at < now() - interval '1 minute'
        and isfinite(run_at)
    order by run_at
    limit 1) as waiting;
comment on view errand.overdue is
    'What is late: queues whose oldest job is due for 5 minutes, kinds without workers, schedules, promotion';
comment on column errand.overdue.what is 'queue, kind, schedule or promotion';
comment on column errand.overdue.name is 'its name';
comment on column errand.overdue.since is 'since when it is due';
comment on column errand.overdue.late_by is 'how long that is';
comment on column errand.overdue.detail is 'what is late';
comment on column errand.overdue.hint is 'the call that shows more, or what to do';
