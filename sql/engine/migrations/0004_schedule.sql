-- 0004_schedule: the tables of schedules and their ticks, and those of batches.
--
-- Why     Each tick gives exactly one job, however many schedulers run, and is recorded.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create table errand.schedule (
    created_at timestamptz not null default now(),
    changed_at timestamptz not null default now(),
    last_tick timestamptz not null default now(),
    last_local timestamp,
    next_tick timestamptz,
    due_at timestamptz not null default now(),
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
    app text,
    owner text,
    paused_reason text,
    problem text,
    priority smallint,
    jitter interval,
    starts_at timestamptz,
    ends_at timestamptz,
    overlap text not null default 'allow',
    limit_key text,
    tags text[],
    subject text,
    exceptions jsonb,
    constraint schedule_pkey primary key (name),
    constraint schedule_name check (name ~ '^[a-z][a-z0-9_.-]{0,99}$'),
    constraint schedule_times check ((cron is null) <> (every is null)),
    constraint schedule_cron check (cron ~ '^(@[A-Za-z]{5,8}|[0-9A-Za-z*,/#-]+( [0-9A-Za-z*,/#-]+){4,5})$'),
    constraint schedule_every check (
        every >= interval '1 second' and extract(year from every) = 0 and extract(month from every) = 0),
    constraint schedule_missed check (missed in ('skip', 'latest', 'all')),
    constraint schedule_overlap check (overlap in ('allow', 'skip', 'replace')),
    constraint schedule_max_catch_up check (max_catch_up between 1 and 100000),
    constraint schedule_max_lateness check (max_lateness >= interval '1 second')
) with (fillfactor = 50);
-- A scheduler looks for what is due from a mark on: dead entries of earlier times cost it nothing.
create index schedule_due_index on errand.schedule (due_at);

comment on table errand.schedule is 'The schedules: errand.put_schedule and its siblings change them';
comment on column errand.schedule.created_at is 'when it was created';
comment on column errand.schedule.changed_at is 'when it was last changed, paused or resumed';
comment on column errand.schedule.last_tick is 'ticks up to this moment are recorded or were never wanted';
comment on column errand.schedule.last_local is
    'that moment on its clock, if it was a tick: the next one is later on the clock too; null after a change';
comment on column errand.schedule.next_tick is 'the next tick; null if it is paused or has a problem';
comment on column errand.schedule.due_at is
    'when it is looked at: at its next tick, when its plan is to be renewed, or when a refused tick is tried again';
comment on column errand.schedule.paused_at is 'when it was paused; null = it is not paused';
comment on column errand.schedule.every is
    'interval between ticks, at whole multiples since 1970-01-01 00:00 UTC; null if cron is given';
comment on column errand.schedule.max_lateness is 'a tick that was not enqueued within this time counts as missed';
comment on column errand.schedule.max_catch_up is
    'for missed = all: how many missed ticks are enqueued, the newest ones';
comment on column errand.schedule.name is 'the schedule''s name: a-z, then up to 99 of a-z 0-9 _ . -';
comment on column errand.schedule.cron is
    'minute, hour, day of month, month and day of week on the local clock; six fields with the second first; or @daily';
comment on column errand.schedule.time_zone is 'the time zone of its clock: an IANA name such as Europe/Paris';
comment on column errand.schedule.missed is
    'what happens to missed ticks: skip, latest (one job) or all (max_catch_up)';
comment on column errand.schedule.queue is 'the queue of its jobs; null = the kind''s default';
comment on column errand.schedule.kind is 'the kind of its jobs';
comment on column errand.schedule.payload is 'the payload of its jobs';
comment on column errand.schedule.definition is
    'the program''s definition when it was last applied; null if only SQL has defined it';
comment on column errand.schedule.defined_by is
    'the login of that program: definitions of another login are refused';
comment on column errand.schedule.app is 'the app that it belongs to; null = none';
comment on column errand.schedule.owner is
    'the login whose own it is: errand.put_own_schedule; null = operators alone change it';
comment on column errand.schedule.paused_reason is 'why it is paused, in the words of the operator';
comment on column errand.schedule.problem is 'why it does not tick; null = it does';
comment on column errand.schedule.priority is 'the priority of its jobs; null = the kind''s default';
comment on column errand.schedule.jitter is
    'its jobs start within this time after their ticks, each at a moment of its own; null = at the tick';
comment on column errand.schedule.starts_at is 'it has no tick before; null = from its creation on';
comment on column errand.schedule.ends_at is 'it has no tick from then on; null = it has no end';
comment on column errand.schedule.overlap is
    'what a tick does while the job of an earlier one is unfinished: allow, skip (no job), replace (cancels that one)';
comment on column errand.schedule.limit_key is 'the limit of its jobs; null = the kind''s default';
comment on column errand.schedule.tags is 'the tags of its jobs';
comment on column errand.schedule.subject is 'the user whose jobs they are: an erasure drops the schedule';
comment on column errand.schedule.exceptions is
    'the days on its clock on which it does not tick, with the reason, as {"2026-12-24": "closed"}; null = none';

create table errand.schedule_plan (
    renew_at timestamptz not null,
    schedule text not null,
    ticks timestamptz[] not null,
    locals timestamp[] not null,
    constraint schedule_plan_pkey primary key (schedule)
);

comment on table errand.schedule_plan is
    'The ticks of each schedule that are to come: of the next 48 hours, 2 to 100, and those due and not recorded';
comment on column errand.schedule_plan.renew_at is 'when it is made anew: within an hour, since rules of zones change';
comment on column errand.schedule_plan.schedule is 'the schedule''s name';
comment on column errand.schedule_plan.ticks is 'the moments, in order';
comment on column errand.schedule_plan.locals is
    'the same on the schedule''s clock: a moment that no longer shows its time is planned anew';

create table errand.tick (
    tick timestamptz not null,
    enqueued_at timestamptz not null default now(),
    job_id bigint,
    schedule text not null,
    outcome text not null,
    reason text,
    constraint tick_pkey primary key (schedule, tick),
    constraint tick_outcome check (outcome in (
        'enqueued', 'late', 'coalesced', 'skipped', 'overlapped', 'excepted', 'paused', 'by hand'))
);
-- errand_internal.prune_ticks, the oldest.
create index tick_tick_index on errand.tick (tick, schedule);

comment on table errand.tick is 'The recorded ticks, each exactly once, for a week; the newest one of a schedule stays';
comment on column errand.tick.tick is 'the moment of the tick';
comment on column errand.tick.enqueued_at is 'when it was recorded';
comment on column errand.tick.job_id is 'its job; null if it has none';
comment on column errand.tick.schedule is 'the schedule''s name';
comment on column errand.tick.outcome is
    'enqueued; late: missed, and enqueued later; coalesced: missed, and covered by a later tick; skipped: missed; '
    'overlapped: the job of an earlier tick was unfinished; excepted: on a day without ticks; paused; by hand';
comment on column errand.tick.reason is 'for by hand and excepted: why, in the words of the operator';

-- Batches of jobs. No column of errand.job and no counter: the members are the ranges of errand.batch_jobs, each row of
-- which is written once.
create table errand.batch (
    id bigint not null,
    opened_at timestamptz not null default now(),
    closed_at timestamptz,
    ended_at timestamptz,
    success_job_id bigint,
    finish_job_id bigint,
    failure_job_id bigint,
    total bigint,
    owner text not null,
    name text not null,
    token text,
    outcome text,
    writers xid8[],
    on_success jsonb,
    on_finish jsonb,
    on_failure jsonb,
    properties jsonb,
    constraint batch_pkey primary key (id)
) with (fillfactor = 70);
-- errand_internal.check_batches looks at these.
create index batch_unfinished_index on errand.batch (id) where ended_at is null;
create index batch_ended_index on errand.batch (ended_at) where ended_at is not null;
comment on table errand.batch is 'Batches of jobs: errand.batch_open. errand.batches shows them';
comment on column errand.batch.id is 'the batch''s id, drawn as those of jobs: its jobs have higher ones';
comment on column errand.batch.opened_at is 'when it was opened';
comment on column errand.batch.closed_at is 'when it was closed; null = it ends only after errand.batch_close';
comment on column errand.batch.ended_at is
    'when none of its jobs was left, and the callbacks were enqueued; null = not yet';
comment on column errand.batch.success_job_id is 'the job of on_success; null = not enqueued';
comment on column errand.batch.finish_job_id is 'the job of on_finish; null = not enqueued';
comment on column errand.batch.failure_job_id is 'the job of on_failure; null = not enqueued';
comment on column errand.batch.total is 'how many jobs it had at its end; null = it has not ended';
comment on column errand.batch.owner is 'the login that opened it';
comment on column errand.batch.name is 'what it is called; need not be unique';
comment on column errand.batch.token is 'the token of the HTTP API that opened it; null = none did';
comment on column errand.batch.outcome is
    'succeeded, or failed if a job had failed, was cancelled or obsolete at the end; null = it has not ended';
comment on column errand.batch.writers is
    'once these transactions have ended, each job is visible that was enqueued before the close; null = not known yet';
comment on column errand.batch.on_success is 'the job to enqueue if all have succeeded, as in errand.enqueue_many';
comment on column errand.batch.on_finish is 'the job to enqueue when all have ended';
comment on column errand.batch.on_failure is 'the job to enqueue when the first one has not succeeded';
comment on column errand.batch.properties is 'what the application keeps with it: the callbacks get it';

create table errand.batch_jobs (
    batch_id bigint not null,
    last_id bigint not null,
    first_id bigint not null,
    constraint batch_jobs_pkey primary key (batch_id, last_id)
);
comment on table errand.batch_jobs is
    'The jobs of batches, as ranges of ids without a gap and without overlaps; a row is never updated';
comment on column errand.batch_jobs.batch_id is 'the batch';
comment on column errand.batch_jobs.last_id is 'the last job of the range';
comment on column errand.batch_jobs.first_id is 'the first job of the range';

create table errand.batch_failure (
    batch_id bigint not null,
    job_id bigint not null,
    state text not null,
    constraint batch_failure_pkey primary key (batch_id, job_id)
);
comment on table errand.batch_failure is
    'The jobs of batches that ended without success, until they are retried; they stay as long as the batch';
comment on column errand.batch_failure.batch_id is 'the batch';
comment on column errand.batch_failure.job_id is 'the job';
comment on column errand.batch_failure.state is 'failed, cancelled, obsolete, or discarded';

-- A row for each value instead of an update: the newest is found at once, also beside a held snapshot.
create table errand.batch_mark (
    batch_id bigint not null,
    version int not null,
    mark bigint not null,
    constraint batch_mark_pkey primary key (batch_id, version)
);
comment on table errand.batch_mark is
    'From where on a batch may have unfinished jobs. Written under the lock of the batch''s row; the newest counts';
comment on column errand.batch_mark.batch_id is 'the batch';
comment on column errand.batch_mark.version is 'counts from 1';
comment on column errand.batch_mark.mark is 'no job of the batch below this id is unfinished';

create sequence errand.batches_begun as bigint;
create sequence errand.batches_checked as bigint;
comment on sequence errand.batches_begun is
    'Outside of transactions: how often a batch was closed or jobs of one have ended. Maintenance looks at batches '
    'while it is above batches_checked';
comment on sequence errand.batches_checked is
    'What batches_begun was when maintenance last found nothing to look for: errand_internal.check_batches';
