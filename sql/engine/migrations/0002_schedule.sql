-- 0002_schedule: when jobs are enqueued by the clock, and which ticks have been.
--
-- Why     a schedule's tick must give exactly one job, whatever number of schedulers run, and be on record.
-- Locks   nothing: both tables are new.
-- Before  version 0001 runs on: it knows neither table.
create table errand.schedule (
    version bigint not null default 1,
    created_at timestamptz not null default now(),
    changed_at timestamptz not null default now(),
    last_tick timestamptz not null default now(),
    next_tick timestamptz,
    paused_at timestamptz,
    every interval,
    max_lateness interval not null default interval '1 minute',
    max_catch_up int not null default 100,
    name text not null,
    cron text,
    time_zone text not null default 'UTC',
    missed text not null default 'latest',
    queue text,
    kind text not null,
    payload jsonb not null default '{}',
    definition jsonb,
    defined_by text,
    paused_reason text,
    problem text,
    constraint schedule_pkey primary key (name),
    constraint schedule_name check (name ~ '^[a-z][a-z0-9_.-]{0,99}$'),
    constraint schedule_times check ((cron is null) <> (every is null)),
    constraint schedule_cron check (cron ~ '^(@[A-Za-z]{5,8}|[0-9A-Za-z*,/#-]+( [0-9A-Za-z*,/#-]+){4,5})$'),
    constraint schedule_every check (
        every >= interval '1 second' and extract(year from every) = 0 and extract(month from every) = 0),
    constraint schedule_missed check (missed in ('skip', 'latest', 'all')),
    constraint schedule_max_catch_up check (max_catch_up between 1 and 100000),
    constraint schedule_max_lateness check (max_lateness >= interval '1 second')
) with (fillfactor = 50);

comment on table errand.schedule is 'When jobs are enqueued by the clock; change it through errand.schedule_put and its kin';
comment on column errand.schedule.version is 'counts changes, so that a scheduler that has read an older one enqueues nothing';
comment on column errand.schedule.created_at is 'when it was first put';
comment on column errand.schedule.changed_at is 'when it was last put, paused or resumed';
comment on column errand.schedule.last_tick is 'ticks up to this moment are settled: enqueued, skipped or never wanted';
comment on column errand.schedule.next_tick is 'the tick that comes next, as a scheduler has computed it';
comment on column errand.schedule.paused_at is 'since when nothing is enqueued; null = it runs';
comment on column errand.schedule.every is 'ticks at whole multiples of this since 1970-01-01 00:00 UTC; null where cron is given';
comment on column errand.schedule.max_lateness is 'a tick that could not be enqueued within this counts as missed';
comment on column errand.schedule.max_catch_up is 'where missed is all: how many are enqueued at most, the newest';
comment on column errand.schedule.name is 'names the schedule: a-z, then up to 99 of a-z 0-9 _ . -';
comment on column errand.schedule.cron is
    'minute, hour, day of month, month, day of week on the local clock, six with the second first; or @daily and its kin';
comment on column errand.schedule.time_zone is 'whose clock: an IANA name such as Europe/Paris';
comment on column errand.schedule.missed is 'what becomes of missed ticks: skip, latest (one job) or all (up to max_catch_up)';
comment on column errand.schedule.queue is 'the queue of its jobs; null = as for the kind';
comment on column errand.schedule.kind is 'the kind of its jobs';
comment on column errand.schedule.payload is 'the payload of its jobs';
comment on column errand.schedule.definition is
    'what the program''s own definition said when it was last taken over; null where it was put by SQL alone';
comment on column errand.schedule.defined_by is
    'the login of the program whose definition that is: another login''s definition is refused';
comment on column errand.schedule.paused_reason is 'why it is paused, in the words of who paused it';
comment on column errand.schedule.problem is 'why it does not tick; null = it does';

create table errand.tick (
    tick timestamptz not null,
    enqueued_at timestamptz not null default now(),
    job_id bigint,
    schedule text not null,
    outcome text not null,
    reason text,
    constraint tick_pkey primary key (schedule, tick),
    constraint tick_outcome check (outcome in ('enqueued', 'late', 'coalesced', 'skipped', 'paused', 'by hand'))
);
create index tick_tick_index on errand.tick (tick);

comment on table errand.tick is 'The settled ticks, each exactly once, kept for a week; the newest of a schedule stays';
comment on column errand.tick.tick is 'the moment that the schedule names';
comment on column errand.tick.enqueued_at is 'when it was settled';
comment on column errand.tick.job_id is 'the job that it gave; null where it gave none';
comment on column errand.tick.schedule is 'the schedule''s name';
comment on column errand.tick.outcome is
    'enqueued; late: missed and made up for; coalesced: missed, a later one stands for it; skipped: missed; paused; by hand';
comment on column errand.tick.reason is 'why it was made by hand, in the words of who did it';
