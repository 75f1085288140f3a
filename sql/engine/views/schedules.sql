-- schedules: one row for each schedule: its times, its last and next tick, and its problem.
-- errand: for ops, monitor
-- errand: topic schedules
create or replace view errand.schedules as
select
    known.name,
    coalesce(
        known.cron,
        'every ' || concat_ws(
            ' ', nullif(counted.us / 3600000000, 0) || ' h', nullif(counted.us / 60000000 % 60, 0) || ' min',
            nullif(counted.us / 1000000 % 60, 0) || ' s', nullif(counted.us % 1000000, 0) || ' us')) as cron,
    known.time_zone,
    known.kind,
    known.queue,
    known.missed,
    latest.tick as last_tick,
    latest.outcome as last_outcome,
    latest.job_id as last_job_id,
    known.next_tick,
    case
        when known.problem is not null then known.problem
        when known.paused_at is null and known.next_tick < now() - known.max_lateness - interval '10 seconds'
            then 'late: does a scheduler run?'
        when known.paused_at is null and known.next_tick is null
                and greatest(known.changed_at, known.last_tick) < now() - interval '1 minute'
            then 'no scheduler has read it: does one run?'
    end as problem,
    known.paused_at,
    known.paused_reason,
    known.created_at,
    known.changed_at
from errand.schedule as known
cross join lateral (
    select (extract(epoch from known.every) * 1000000)::bigint as us
) as counted
left join lateral (
    select past.tick, past.outcome, past.job_id
    from errand.tick as past
    where past.schedule = known.name
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
