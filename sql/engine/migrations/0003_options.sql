-- 0003_options: what an enqueue may ask for, and what holds jobs back: limits, rates, dependencies, guards.
--
-- Why     a job may have a last moment, a guard, a limit, tags and a trace; a fleet may not do all that it could.
-- Locks   errand.job, for as long as it takes to index its scheduled jobs again; nullable columns rewrite nothing.
-- Before  nothing was released before.

-- Null in a job without options, so that it costs nothing: 72 columns share one null bitmap of the same size.
alter table errand.job
    add column not_after timestamptz,
    add column limit_key text,
    add column guard text,
    add column tags text[],
    add column traceparent text,
    add column parked_for text,
    add column is_handed_back boolean,
    drop constraint job_position_when_due,
    -- A parked job that waits for nothing would be released by nobody.
    add constraint job_position_when_due check (
        queue_position is not null and parked_for is null and state in ('available', 'running')
        or queue_position is null and parked_for is null and state = 'scheduled'
        or queue_position is null and parked_for is not null and state = 'parked');

comment on column errand.job.not_after is 'not to be started after: then it is obsolete';
comment on column errand.job.limit_key is 'at most errand.limit.max_running jobs with this key run at once';
comment on column errand.job.guard is 'the guard (errand.guard) that says whether it is still wanted';
comment on column errand.job.tags is 'words to find it by';
comment on column errand.job.traceparent is 'the W3C trace context of its enqueue';
comment on column errand.job.parked_for is 'what a parked job waits for: limit:KEY or dependency:NAME';

-- Below the workers' marks, so a claim finds them here. No `queue_position is not null`: nothing else may be taken for this
-- index.
create index job_handed_back_index on errand.job (queue, priority, queue_position) where is_handed_back;
comment on column errand.job.is_handed_back is
    'it waits under its old position: its worker gave it back without an attempt; null = it does not';

-- Parked jobs are due and not in line: whoever looks for scheduled jobs must not read over them.
drop index errand.job_run_at_index;
create index job_run_at_index on errand.job (run_at) where queue_position is null and parked_for is null;
create index job_parked_index on errand.job (parked_for, priority, run_at, id) where parked_for is not null;

alter table errand.history
    add column not_after timestamptz,
    add column limit_key text,
    add column guard text,
    add column tags text[],
    add column traceparent text;
comment on column errand.history.not_after is 'not to be started after';
comment on column errand.history.limit_key is 'the limit under which it ran';
comment on column errand.history.guard is 'the guard that was asked whether it is still wanted';
comment on column errand.history.tags is 'words to find it by';
comment on column errand.history.traceparent is 'the W3C trace context of its enqueue';

alter table errand.failed
    add column not_after timestamptz,
    add column limit_key text,
    add column guard text,
    add column tags text[],
    add column traceparent text;
comment on column errand.failed.not_after is 'not to be started after';
comment on column errand.failed.limit_key is 'the limit under which it ran';
comment on column errand.failed.guard is 'the guard that was asked whether it is still wanted';
comment on column errand.failed.tags is 'words to find it by';
comment on column errand.failed.traceparent is 'the W3C trace context of its enqueue';

alter table errand.kind
    add column max_running int,
    add column limit_key text,
    add column dependency text,
    add column keep_ended interval,
    add column keep_failed interval;
create index kind_limited_index on errand.kind (name) where limit_key is not null;
comment on column errand.kind.max_running is 'how many jobs of the kind its program wants to run at once; errand.limit is what counts';
comment on column errand.kind.limit_key is 'the limit of jobs that name none of their own';
comment on column errand.kind.dependency is 'what jobs of the kind need; while it is down they park';
comment on column errand.kind.keep_ended is 'how long ended jobs stay in the history; null = as all others';
comment on column errand.kind.keep_failed is 'how long failed jobs are kept; null = as all others';

-- The function by its name and not as a regprocedure: pg_upgrade refuses tables that hold one.
create table errand.guard (
    name text not null,
    function text not null,
    registered_at timestamptz not null default now(),
    slow_at timestamptz,
    slow_ms real,
    constraint guard_pkey primary key (name),
    constraint guard_name check (name ~ '^[a-z][a-z0-9_.-]{0,99}$')
);
comment on table errand.guard is 'The functions that may be asked whether a job is still wanted';
comment on column errand.guard.name is 'what an enqueue calls it';
comment on column errand.guard.slow_at is 'when a claim last left jobs in line since asking it took too long; noted each 10 s';
comment on column errand.guard.slow_ms is 'how long a call took then, on average';
comment on column errand.guard.function is 'schema.name of a function that takes the payload (jsonb) and answers boolean';

create table errand.limit (
    limit_key text not null,
    max_running int not null,
    set_at timestamptz not null default now(),
    constraint limit_pkey primary key (limit_key),
    constraint limit_max_running check (max_running >= 0)
);
comment on table errand.limit is 'How many jobs with the same limit_key may run at once, over all workers';
comment on column errand.limit.limit_key is 'a key, or the start of keys and an asterisk: tenant/* gives each tenant its own';
create index limit_pattern_index on errand.limit (limit_key) where limit_key like '%*';
comment on column errand.limit.max_running is 'how many; 0 holds all of them';

-- A slot that changes hands gets a new row, and the old one is deleted. The newest row of a slot is the last entry of
-- its number: a read from there on passes none of the old rows, however many a held snapshot keeps.
create table errand.limit_slot (
    job_id bigint not null,
    queue_position bigint not null,
    admitted_at timestamptz not null,
    slot int not null,
    limit_key text not null,
    constraint limit_slot_pkey primary key (limit_key, slot, admitted_at)
) with (fillfactor = 70);
create index limit_slot_job_index on errand.limit_slot (job_id);
comment on table errand.limit_slot is
    'Which jobs may run under a limit. A slot counts for as long as its job has that position, so a crash leaks none';
comment on column errand.limit_slot.queue_position is 'the position under which the job got it';
comment on column errand.limit_slot.admitted_at is 'when the job got it: of several rows of a slot the newest counts';
comment on column errand.limit_slot.slot is 'its number, from 1 on';

create table errand.limit_mark (
    job_id bigint not null,
    run_at timestamptz not null,
    marked_at timestamptz not null,
    priority smallint not null,
    limit_key text not null,
    constraint limit_mark_pkey primary key (limit_key, priority, marked_at)
) with (fillfactor = 70);
comment on table errand.limit_mark is
    'Up to where the parked jobs of a limit have been released: a hint, so that a release reads no entries of released jobs';
comment on column errand.limit_mark.job_id is 'the last job that was released';
comment on column errand.limit_mark.run_at is 'its run_at';
comment on column errand.limit_mark.marked_at is 'when it was: of several rows of a priority the newest counts';
comment on column errand.limit_mark.priority is 'its priority';
comment on column errand.limit_mark.limit_key is 'the key of the limit';

create table errand.rate (
    queue text not null,
    per interval not null,
    allowed int not null,
    constraint rate_pkey primary key (queue),
    constraint rate_per check (
        per >= interval '100 milliseconds' and extract(year from per) = 0 and extract(month from per) = 0),
    constraint rate_allowed check (allowed >= 1)
);
comment on table errand.rate is 'How many jobs of a queue may start in any span of time of that length, over all workers';

-- A table of its own, so that a session that is changing a rate holds up no claim.
create table errand.rate_log (
    queue text not null,
    first_at timestamptz[] not null,
    last_at timestamptz[] not null,
    jobs int[] not null,
    constraint rate_log_pkey primary key (queue)
) with (fillfactor = 20);
comment on table errand.rate_log is 'The jobs that were started lately in queues with a rate, in groups of a hundredth of its span';
comment on column errand.rate_log.queue is 'the queue';
comment on column errand.rate_log.first_at is 'when the first job of each group was started, oldest group first';
comment on column errand.rate_log.last_at is 'when the last job of each group was started: so long the group counts';
comment on column errand.rate_log.jobs is 'how many jobs each group has';

create table errand.dependency (
    name text not null,
    opened_at timestamptz,
    until timestamptz,
    opened_by text,
    reason text,
    failures int not null default 0,
    failing_since timestamptz,
    failed_at timestamptz,
    closed_at timestamptz,
    released_at timestamptz,
    probe_job_id bigint,
    probe_position bigint,
    threshold int not null default 3,
    threshold_window interval not null default interval '10 seconds',
    probe_every interval not null default interval '1 second',
    constraint dependency_pkey primary key (name),
    constraint dependency_name check (name ~ '^[a-z][a-z0-9_.-]{0,99}$'),
    constraint dependency_opened_by check (opened_by in ('ops', 'failures', 'handler')),
    constraint dependency_numbers check (
        threshold >= 1 and threshold_window > interval '0' and probe_every > interval '0')
) with (fillfactor = 50);
create index dependency_open_index on errand.dependency (name) where opened_at is not null;
comment on table errand.dependency is
    'What jobs need from outside, and whether it is known to be down (open): then they park and spend no attempts';
comment on column errand.dependency.opened_at is 'since when it counts as down; null = it is up';
comment on column errand.dependency.until is 'when one job may try it; null while open = not before somebody closes it';
comment on column errand.dependency.opened_by is 'ops, failures (too many within the window) or handler (it knew until when)';
comment on column errand.dependency.reason is 'what was last said about it';
comment on column errand.dependency.failures is 'failures within the present window';
comment on column errand.dependency.failing_since is 'when the present window began';
comment on column errand.dependency.failed_at is 'the last failure';
comment on column errand.dependency.closed_at is 'since when it counts as up again';
comment on column errand.dependency.released_at is 'when parked jobs were last put back in line';
comment on column errand.dependency.probe_job_id is 'the one job that tries it';
comment on column errand.dependency.probe_position is 'the line of that job: another line means that the try is over';
comment on column errand.dependency.threshold is 'so many failures within threshold_window open it';
comment on column errand.dependency.probe_every is 'the time between two tries while it is open';

create table errand.progress (
    job_id bigint not null,
    queue_position bigint not null,
    updated_at timestamptz not null default now(),
    fraction real,
    attempt smallint not null,
    message text,
    output jsonb,
    log text[],
    constraint progress_pkey primary key (job_id)
) with (fillfactor = 50);
create index progress_updated_at_index on errand.progress (updated_at);
comment on table errand.progress is 'What running attempts report, and the last lines that they logged; kept with the job';
comment on column errand.progress.queue_position is 'the line of the attempt: an older attempt changes nothing';
comment on column errand.progress.fraction is 'how much is done, 0 to 1';
comment on column errand.progress.message is 'what it is doing, in words';
comment on column errand.progress.output is 'what it has found so far';
comment on column errand.progress.log is 'its last lines: at most 50, and 8 KB';

-- They come back with more arguments and a longer answer, which create or replace can't give them.
drop function if exists errand.enqueue(text, jsonb, text, timestamptz, int, int, text);
drop function if exists errand.enqueue_many(jsonb);
