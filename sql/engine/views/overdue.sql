-- overdue: queues, kinds, schedules and limits that are late, and scheduled jobs that maintenance has not made
-- available.
--
-- A queue is late after 5 minutes, and after one if nothing keeps its jobs back: errand_internal.stands_still. Kinds
-- are by the last statistics, some seconds ago.
-- errand: after queues, schedules
-- errand: for ops, monitor
-- errand: topic find, health
create or replace view errand.overdue as
select
    case when paused_at is null then 'queue' else 'paused queue' end as what,
    queue as name,
    oldest_due_at as since,
    oldest_age as late_by,
    -- As for other pauses, in the words of the operator.
    case when paused_at is not null then format('paused by %s: %s; ', paused_by, paused_reason) else '' end
        || format('its oldest job has been due for %s s', round(extract(epoch from oldest_age)))
        || case when stands_still then ', and nothing keeps it back: its workers have idle slots' else '' end as detail,
    case
        when paused_at is not null then format('select errand.resume_queue(%L)', queue)
        when workers = 0 then coalesce(
            (
                select format(
                    'its worker %s is drained: select errand.undrain_worker(%s, ''…'')', min(name), min(drained.id))
                from errand.worker as drained
                where queues.queue = any (drained.queues) and drained.drained_at is not null
                    and drained.heartbeat_at + drained.lease > now()
                having count(*) > 0
            ),
            format('no live worker claims from it: add %s=10 to the queues of one (ERRAND_QUEUES)', queue))
        when stands_still then 'the logs of its workers say why they can''t claim; restart one'
        else 'select * from errand.explain(…) of one of its jobs'
    end as hint
from errand.queues
where stands_still or oldest_age > interval '5 minutes'
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
    case
        when knowing is null then 'start a worker of a version that has it'
        else format(
            '%s has it, but claims from other queues: add %s=10 to its queues (ERRAND_QUEUES)', knowing, queues[1])
    end
from (
    select
        unserved.kind,
        sum(unserved.jobs) as jobs,
        array_agg(unserved.queue order by unserved.jobs desc, unserved.queue) as queues,
        min(knowing.worker) as knowing,
        bool_or(unserved.is_served) as is_served
    from (
        select job_count.queue, job_count.kind, job_count.jobs, count(served.queue) > 0 as is_served
        from errand.job_count
        left join (
            select queue, alike.kinds
            from (
                select distinct queues, kinds
                from errand.worker
                where heartbeat_at + lease > now() and drained_at is null
            ) as alike
            cross join unnest(alike.queues) as queue
        ) as served on served.queue = job_count.queue
        where job_count.state = 'available' and job_count.jobs > 0
        group by job_count.queue, job_count.kind, job_count.jobs
        having bool_or(job_count.kind = any (served.kinds)) is not true
    ) as unserved
    left join (
        select kind, min(alike.worker) as worker
        from (
            select kinds, min(name) as worker from errand.worker where heartbeat_at + lease > now() group by kinds
        ) as alike
        cross join unnest(alike.kinds) as kind
        group by kind
    ) as knowing on knowing.kind = unserved.kind
    group by unserved.kind
) as waiting
-- A queue without workers is late itself.
where knowing is null or is_served
union all
select 'schedule', name, next_tick, now() - next_tick, problem, 'select * from errand.schedules'
from errand.schedules
where problem is not null and paused_at is null
union all
select
    'limit', limit_key, since, now() - since,
    'it has room, and no job that waits for it has been released for ' || round(extract(epoch from now() - since))
        || ' s',
    'maintenance releases jobs within a second: does any `errand worker` or `errand scheduler` run?'
from errand_internal.standing_limits()
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
    'What is late: queues whose oldest job is due for 5 minutes, or for one with idle slots; kinds without workers, '
    'schedules, limits, promotion';
comment on column errand.overdue.what is
    'queue, paused queue (on purpose), kind, schedule, limit or promotion';
comment on column errand.overdue.name is 'its name';
comment on column errand.overdue.since is 'since when it is due';
comment on column errand.overdue.late_by is 'how long that is';
comment on column errand.overdue.detail is 'what is late';
comment on column errand.overdue.hint is 'the call that shows more, or what to do';
