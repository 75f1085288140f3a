-- schedule_status: a row a schedule: when it ticks, what its last tick gave, when the next one is, what is wrong with it.
create or replace view errand.schedule_status as
select
    known.name,
    coalesce(known.cron, 'every ' || known.every) as cron,
    known.time_zone,
    known.kind,
    known.queue,
    known.missed,
    settled.tick as last_tick,
    settled.outcome as last_outcome,
    settled.job_id as last_job_id,
    known.next_tick,
    case
        when known.problem is not null then known.problem
        when known.paused_at is null and known.next_tick < now() - known.max_lateness then 'late: does a scheduler run?'
    end as problem,
    known.paused_at,
    known.paused_reason,
    known.created_at,
    known.changed_at
from errand.schedule as known
left join lateral (
    select past.tick, past.outcome, past.job_id
    from errand.tick as past
    where past.schedule = known.name
    order by past.tick desc
    limit 1
) as settled on true;
comment on view errand.schedule_status is
    'A row a schedule: its times, its last tick and the job of it, its next tick, paused, and problem: why it does not tick';
