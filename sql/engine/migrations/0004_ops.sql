-- 0004_ops: who did what and why, how long a pause lasts, and counts of jobs that nobody has to count for a look.
--
-- Why     people who operate a queue ask why, who and how many; a look must not cost what the table is long.
-- Locks   errand.queue, errand.failed and errand.finished_per_minute, for milliseconds: new columns rewrite nothing.
-- Before  nothing was released before.
create table errand.action (
    id bigint generated always as identity,
    done_at timestamptz not null default now(),
    jobs bigint not null,
    who text not null,
    acting_as text,
    application_name text,
    action text not null,
    target jsonb not null,
    reason text,
    job_ids bigint[],
    constraint action_pkey primary key (id)
);
create index action_done_at_index on errand.action (done_at);
create index action_job_ids_index on errand.action using gin (job_ids);
comment on table errand.action is 'What people did to jobs, queues and workers, kept for a year; errand.audit shows it';
comment on column errand.action.id is 'counts actions';
comment on column errand.action.done_at is 'when: the start of the transaction';
comment on column errand.action.jobs is 'how many jobs it changed';
comment on column errand.action.who is 'who was logged in: session_user';
comment on column errand.action.acting_as is 'the role that he had set; null where it was his own';
comment on column errand.action.application_name is 'what his program called itself';
comment on column errand.action.action is 'the function that was called';
comment on column errand.action.target is 'what it was called for: its arguments';
comment on column errand.action.reason is 'why, in his words';
comment on column errand.action.job_ids is 'the jobs that it changed; the first 1,000 of them';

create type errand.job_choice as (
    queue text,
    kind text,
    state text,
    tag text,
    unique_key text,
    limit_key text,
    error text,
    created_after timestamptz,
    created_before timestamptz,
    ended_after timestamptz,
    ended_before timestamptz
);
comment on type errand.job_choice is 'The keys of a filter, as errand.cancel_where and errand.retry_where take it';
comment on column errand.job_choice.queue is 'jobs of this queue';
comment on column errand.job_choice.kind is 'jobs of this kind';
comment on column errand.job_choice.state is 'jobs in this state';
comment on column errand.job_choice.tag is 'jobs with this tag';
comment on column errand.job_choice.unique_key is 'the job with this unique key';
comment on column errand.job_choice.limit_key is 'jobs under this limit';
comment on column errand.job_choice.error is 'jobs whose last error contains this text';
comment on column errand.job_choice.created_after is 'jobs enqueued at or after this time';
comment on column errand.job_choice.created_before is 'jobs enqueued before this time';
comment on column errand.job_choice.ended_after is 'jobs that ended at or after this time';
comment on column errand.job_choice.ended_before is 'jobs that ended before this time';

alter table errand.queue
    add column paused_until timestamptz,
    add column paused_by text;
comment on column errand.queue.name is 'names the queue';
comment on column errand.queue.paused_until is 'when the pause ends by itself; null = not before errand.resume';
comment on column errand.queue.paused_by is 'who paused it';

alter table errand.failed add column fingerprint text not null default '';
comment on column errand.failed.fingerprint is 'the error without its numbers, ids and quotes: alike for errors that are alike';

-- The histograms' buckets: the first is below 1 ms, each next one ends at sqrt(2) times the one before.
alter table errand.finished_per_minute
    add column wait_histogram int[] not null default '{}',
    add column run_histogram int[] not null default '{}';
create index finished_per_minute_unmerged_index on errand.finished_per_minute (minute) where worker_id <> 0;
comment on column errand.finished_per_minute.minute is 'the minute, by the server''s clock, in which they were counted';
comment on column errand.finished_per_minute.worker_id is 'who counted; 0 = all workers, merged once the minute is over';
comment on column errand.finished_per_minute.jobs is 'how many attempts ended';
comment on column errand.finished_per_minute.queue is 'the jobs'' queue';
comment on column errand.finished_per_minute.kind is 'the jobs'' kind';
comment on column errand.finished_per_minute.wait_histogram is
    'from due to started: how many took < 1 ms, < 1.4 ms, < 2 ms and so on by factors of sqrt(2)';
comment on column errand.finished_per_minute.run_histogram is 'from started to ended: the same';

create table errand.past_failure (
    job_id bigint not null,
    finished_at timestamptz not null,
    queue text not null,
    kind text not null,
    fingerprint text not null,
    error text not null
);
create index past_failure_finished_at_index on errand.past_failure (finished_at);
comment on table errand.past_failure is
    'The newest failures of jobs that were retried since, kept for a week: errand.recent_errors shows them';
comment on column errand.past_failure.job_id is 'the job that failed';
comment on column errand.past_failure.finished_at is 'when it failed';
comment on column errand.past_failure.queue is 'its queue';
comment on column errand.past_failure.kind is 'its kind';
comment on column errand.past_failure.fingerprint is 'the error without its numbers, ids and quotes';
comment on column errand.past_failure.error is 'its last error';

create table errand.finished_total (
    jobs bigint not null default 0,
    wait_ms bigint not null default 0,
    run_ms bigint not null default 0,
    last_minute timestamptz not null,
    queue text not null,
    kind text not null,
    outcome text not null,
    constraint finished_total_pkey primary key (queue, kind, outcome)
) with (fillfactor = 50);
comment on table errand.finished_total is 'Ended attempts since ever, without those that no merge has reached yet';
comment on column errand.finished_total.jobs is 'how many attempts ended';
comment on column errand.finished_total.wait_ms is 'sum over the attempts: from due to started';
comment on column errand.finished_total.run_ms is 'sum over the attempts: from started to ended';
comment on column errand.finished_total.last_minute is 'the minute of the last one';
comment on column errand.finished_total.queue is 'the jobs'' queue';
comment on column errand.finished_total.kind is 'the jobs'' kind';
comment on column errand.finished_total.outcome is 'as in errand.finished_per_minute';

create table errand.job_count (
    jobs bigint not null,
    oldest_due_at timestamptz,
    queue text not null,
    kind text not null,
    state text not null,
    constraint job_count_pkey primary key (queue, kind, state)
) with (fillfactor = 50);
comment on table errand.job_count is 'How many jobs there are, as housekeeping counted or estimated them last';
comment on column errand.job_count.jobs is 'how many; scaled up from a sample where the table is long';
comment on column errand.job_count.oldest_due_at is
    'since when the longest waiting of them is due that a live worker of the queue knows; any where the queue has none';
comment on column errand.job_count.queue is 'their queue';
comment on column errand.job_count.kind is 'their kind';
comment on column errand.job_count.state is 'scheduled, available, parked, running or failed';

create table errand.throughput (
    span interval not null,
    succeeded bigint not null,
    failed bigint not null,
    retried bigint not null,
    wait_p50_ms double precision,
    wait_p95_ms double precision,
    wait_p99_ms double precision,
    run_p50_ms double precision,
    run_p95_ms double precision,
    run_p99_ms double precision,
    subject text not null,
    name text not null,
    constraint throughput_pkey primary key (subject, name, span),
    constraint throughput_subject check (subject in ('queue', 'kind'))
) with (fillfactor = 50);
comment on table errand.throughput is 'What ended lately and how long it took, by queue and by kind, as housekeeping computed it last';
comment on column errand.throughput.span is 'over the last 5 minutes, or the last hour';
comment on column errand.throughput.succeeded is 'jobs that succeeded';
comment on column errand.throughput.failed is 'jobs that failed for good';
comment on column errand.throughput.retried is 'attempts that failed and are tried again';
comment on column errand.throughput.wait_p50_ms is 'from due to started: half of the attempts waited less, in milliseconds';
comment on column errand.throughput.wait_p95_ms is 'from due to started: 95 of 100 waited less';
comment on column errand.throughput.wait_p99_ms is 'from due to started: 99 of 100 waited less';
comment on column errand.throughput.run_p50_ms is 'from started to ended: half of the attempts took less, in milliseconds';
comment on column errand.throughput.run_p95_ms is 'from started to ended: 95 of 100 took less';
comment on column errand.throughput.run_p99_ms is 'from started to ended: 99 of 100 took less';
comment on column errand.throughput.subject is 'queue or kind';
comment on column errand.throughput.name is 'the queue''s or the kind''s name';

create table errand.maintenance_task (
    done_at timestamptz not null,
    took_ms double precision not null,
    name text not null,
    done_by text not null,
    note text,
    constraint maintenance_task_pkey primary key (name)
) with (fillfactor = 50);
comment on table errand.maintenance_task is 'When each housekeeping duty was last done; errand.maintenance_status shows it';
comment on column errand.maintenance_task.done_at is 'when it was last begun';
comment on column errand.maintenance_task.took_ms is 'how long that took';
comment on column errand.maintenance_task.name is 'statistics, rescue, maintain, or schedule: a scheduler looked at the schedules';
comment on column errand.maintenance_task.done_by is 'the program that did it, as it calls itself';
comment on column errand.maintenance_task.note is 'what it found';

-- Locked by errand.try_lock, errand.lock_limits and errand.lock_claims, and empty. A lock of a table needs a right to it
-- and no transaction id; an advisory lock could be held by anybody who may connect.
create table errand.promote_lock ();
create table errand.release_lock ();
create table errand.rescue_lock ();
create table errand.isolate_lock ();
create table errand.statistics_lock ();
create table errand.limits_lock ();
create table errand.claims_lock ();
comment on table errand.promote_lock is 'Empty. Who has it locked puts scheduled jobs in line';
comment on table errand.release_lock is 'Empty. Who has it locked puts parked jobs in line';
comment on table errand.rescue_lock is 'Empty. Who has it locked takes back the jobs of lost workers';
comment on table errand.isolate_lock is 'Empty. Who has it locked releases jobs that were in two crashes';
comment on table errand.statistics_lock is 'Empty. Who has it locked counts jobs for the views of ops';
comment on table errand.limits_lock is 'Empty. Who has it locked admits jobs under limits and rates';
comment on table errand.claims_lock is 'Empty. Who has it locked makes a large claim';

-- Signatures and columns that change: the new ones follow behind the migrations.
drop function if exists errand.pause(text, text);
drop function if exists errand.resume(text);
drop view if exists errand.queue_status;
drop view if exists errand.recent_errors;
drop view if exists errand.worker_status;

-- What earlier migrations left without words.
comment on column errand.migration.name is 'the file''s name without its ending';
comment on column errand.migration.sha256 is 'the hash of what was applied';
comment on column errand.migration.applied_at is 'when it was applied';
comment on column errand.script.name is 'the file''s path without its ending';
comment on column errand.script.sha256 is 'the hash of what was applied';
comment on column errand.script.applied_at is 'when it was last applied';
comment on column errand.history.id is 'the job''s id';
comment on column errand.history.worker_id is 'the worker of its last attempt';
comment on column errand.history.created_at is 'when it was enqueued';
comment on column errand.history.run_at is 'not to be started before';
comment on column errand.history.started_at is 'when its last attempt was claimed';
comment on column errand.history.finished_at is 'when it ended; names the partition';
comment on column errand.history.priority is '1 (first) to 4 (last)';
comment on column errand.history.attempt is 'attempts that it took';
comment on column errand.history.max_attempts is 'attempts that it had';
comment on column errand.history.crashes is 'attempts that ended because their worker was lost';
comment on column errand.history.state is 'succeeded, cancelled or obsolete';
comment on column errand.history.queue is 'its queue';
comment on column errand.history.kind is 'its kind';
comment on column errand.history.unique_key is 'the unique key that it held';
comment on column errand.history.payload_day is
    'which day of errand.payload holds its payload; null = the payload is here';
comment on column errand.history.payload is 'what its handler got; null where it lies in errand.payload';
comment on column errand.history.attempts is 'attempts that did not succeed';
comment on column errand.failed.id is 'the job''s id';
comment on column errand.failed.worker_id is 'the worker of its last attempt';
comment on column errand.failed.created_at is 'when it was enqueued';
comment on column errand.failed.run_at is 'not to be started before';
comment on column errand.failed.started_at is 'when its last attempt was claimed';
comment on column errand.failed.finished_at is 'when it failed';
comment on column errand.failed.priority is '1 (first) to 4 (last)';
comment on column errand.failed.attempt is 'attempts that it took';
comment on column errand.failed.max_attempts is 'attempts that it had';
comment on column errand.failed.crashes is 'attempts that ended because their worker was lost';
comment on column errand.failed.queue is 'its queue';
comment on column errand.failed.kind is 'its kind';
comment on column errand.failed.unique_key is 'the unique key that it held';
comment on column errand.failed.payload is 'what its handler got';
comment on column errand.worker.id is 'names the worker: a new one at each start';
comment on column errand.worker.started_at is 'when it was entered';
comment on column errand.worker.version is 'the program''s version';
comment on column errand.kind.name is 'names the kind';
comment on column errand.kind.queue is 'where its jobs go unless an enqueue says otherwise';
comment on column errand.kind.max_attempts is 'attempts that its jobs have unless an enqueue says otherwise';
comment on column errand.kind.priority is 'priority of its jobs unless an enqueue says otherwise';
comment on column errand.dependency.name is 'names what jobs need: storage, apns';
comment on column errand.dependency.threshold_window is 'the window of threshold';
comment on column errand.guard.registered_at is 'when it was registered';
comment on column errand.limit.set_at is 'when it was set';
comment on column errand.limit_slot.job_id is 'the job that may run';
comment on column errand.limit_slot.limit_key is 'the key under which it may';
comment on column errand.progress.job_id is 'the job';
comment on column errand.progress.updated_at is 'when it last reported';
comment on column errand.progress.attempt is 'the attempt that reports';
comment on column errand.rate.queue is 'the queue';
comment on column errand.rate.per is 'the span of time';
comment on column errand.rate.allowed is 'how many jobs may start in it';
