-- schedules: one row for each schedule: its times, its last and next tick, and its problem.
-- errand: for ops, monitor
-- errand: topic schedules
create or replace view errand.schedules as
select
    schedule.name,
    coalesce(
        schedule.cron,
        'every ' || concat_ws(
            ' ', nullif(counted.us / 3600000000, 0) || ' h', nullif(counted.us / 60000000 % 60, 0) || ' min',
            nullif(counted.us / 1000000 % 60, 0) || ' s', nullif(counted.us % 1000000, 0) || ' us')) as cron,
    schedule.time_zone,
    schedule.kind,
    schedule.queue,
    schedule.missed,
    latest.tick as last_tick,
    latest.outcome as last_outcome,
    latest.job_id as last_job_id,
    schedule.next_tick,
    case
        when schedule.problem is not null then schedule.problem
        when schedule.paused_at is null and schedule.next_tick < now() - schedule.max_lateness - interval '10 seconds'
            then 'late: does a scheduler run?'
    end as problem,
    schedule.paused_at,
    schedule.paused_reason,
    schedule.created_at,
    schedule.changed_at,
    schedule.overlap,
    schedule.jitter,
    schedule.starts_at,
    schedule.ends_at,
    schedule.exceptions,
    schedule.priority,
    schedule.tags,
    schedule.limit_key
from errand.schedule
cross join lateral (
    select (extract(epoch from schedule.every) * 1000000)::bigint as us
) as counted
left join lateral (
    select past.tick, past.outcome, past.job_id
    from errand.tick as past
    where past.schedule = schedule.name
    order by past.tick desc
    limit 1
) as latest on true;
comment on view errand.schedules is
    'One row for each schedule: its times, its last tick and job, its next tick, its pause, and why it does not tick';
comment on column errand.schedules.name is 'the schedule''s name';
comment on column errand.schedules.cron is 'its cron expression or interval';
comment on column errand.schedules.time_zone is 'the time zone of its clock';
comment on column errand.schedules.kind is 'the kind of its jobs';
comment on column errand.schedules.queue is 'the queue of its jobs; null = the kind''s default';
comment on column errand.schedules.missed is 'what happens to missed ticks: skip, latest or all';
comment on column errand.schedules.last_tick is 'its last recorded tick';
comment on column errand.schedules.last_outcome is 'the outcome of that tick, as in errand.tick';
comment on column errand.schedules.last_job_id is 'the job of that tick';
comment on column errand.schedules.next_tick is 'the next tick';
comment on column errand.schedules.problem is 'why it does not tick; null = it does';
comment on column errand.schedules.paused_at is 'when it was paused; null = it is not paused';
comment on column errand.schedules.paused_reason is 'why, in the words of the operator';
comment on column errand.schedules.created_at is 'when it was created';
comment on column errand.schedules.changed_at is 'when it was last changed, paused or resumed';
comment on column errand.schedules.overlap is
    'what a tick does while the job of an earlier one is unfinished: allow, skip or replace';
comment on column errand.schedules.jitter is 'its jobs start within this time after their ticks; null = at the tick';
comment on column errand.schedules.starts_at is 'it has no tick before; null = from its creation on';
comment on column errand.schedules.ends_at is 'it has no tick from then on; null = it has no end';
comment on column errand.schedules.exceptions is 'the days without ticks, with the reason, as {"2026-12-24": "closed"}';
comment on column errand.schedules.priority is 'the priority of its jobs; null = the kind''s default';
comment on column errand.schedules.tags is 'the tags of its jobs';
comment on column errand.schedules.limit_key is 'the limit of its jobs; null = the kind''s default';
