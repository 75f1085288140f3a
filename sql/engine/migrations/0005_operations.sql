-- 0005_operations: the tables of the audit, statistics, maintenance, locks, the database's identity and the apps.
--
-- Why     Operators want to know who did what and why, and how many jobs there are, without counting all jobs.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
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
    person text,
    request text,
    constraint action_pkey primary key (id)
);
-- errand.audit of a time; errand_internal.prune, the oldest.
create index action_done_at_index on errand.action (done_at);
-- errand.audit of a job.
create index action_job_ids_index on errand.action using gin (job_ids);
comment on table errand.action is 'The actions of operators, for a year: errand.audit shows them';
comment on column errand.action.id is 'the action''s number';
comment on column errand.action.done_at is 'when: the start of the transaction';
comment on column errand.action.jobs is 'number of jobs that it changed';
comment on column errand.action.who is 'the login: session_user';
comment on column errand.action.acting_as is 'the role of SET ROLE; null = none';
comment on column errand.action.application_name is 'the program''s application_name';
comment on column errand.action.action is 'the function that was called';
comment on column errand.action.target is 'its arguments';
comment on column errand.action.reason is 'why, in the words of the operator';
comment on column errand.action.job_ids is 'the jobs that it changed: the first 1,000 of them';
comment on column errand.action.person is 'for whom the login acted, as its program said; null = for itself';
comment on column errand.action.request is 'the request of that person, as the program''s log names it';

-- What was before each action: errand.undo. errand_internal.note_jobs and note_setting write it with the action, so it
-- has one row for each job and each setting that the action changed.
create table errand.action_change (
    action_id bigint not null,
    job_id bigint,
    was_in text not null,
    is_in text,
    subject text,
    key jsonb,
    was jsonb,
    became jsonb
);
-- All of one action; errand_internal.prune, the oldest.
create index action_change_action_id_index on errand.action_change (action_id, job_id);
-- errand_internal.blank_jobs; settings, which have no job.
create index action_change_job_id_index on errand.action_change (job_id);
-- errand_internal.erase_subject.
create index action_change_subject_index on errand.action_change (subject) where subject is not null;
alter table errand.action_change replica identity full;
comment on table errand.action_change is
    'What each action of operators changed and what was before, for 7 days: errand.audit_changes';
comment on column errand.action_change.action_id is 'the action: errand.action.id';
comment on column errand.action_change.job_id is 'the job; null = a setting';
comment on column errand.action_change.was_in is
    'table that the job was in: job, failed or history; or table of the setting';
comment on column errand.action_change.is_in is
    'table that the action has left the job in; null = it is a setting, or a job that waited for one of these';
comment on column errand.action_change.subject is 'the user whose job it is; null = nobody''s';
comment on column errand.action_change.key is 'which row of the setting''s table it is; null = a job';
comment on column errand.action_change.was is
    'values from before: those that the job''s row lacks now, or all of the setting; null = there was no setting';
comment on column errand.action_change.became is
    'values after it: if they differ now, something else has changed the job; null = the setting was removed';

create type errand.job_choice as (
    queue text,
    kind text,
    state text,
    tag text,
    unique_key text,
    limit_key text,
    error text,
    fingerprint text,
    created_after timestamptz,
    created_before timestamptz,
    ended_after timestamptz,
    ended_before timestamptz,
    batch bigint
);
comment on type errand.job_choice is 'The keys of a filter, as errand.cancel_where and its siblings take it';
comment on column errand.job_choice.queue is 'jobs of this queue';
comment on column errand.job_choice.kind is 'jobs of this kind';
comment on column errand.job_choice.state is 'jobs in this state';
comment on column errand.job_choice.tag is 'jobs with this tag';
comment on column errand.job_choice.unique_key is 'the job with this unique key';
comment on column errand.job_choice.limit_key is 'jobs under this limit';
comment on column errand.job_choice.error is 'jobs whose last error contains this text';
comment on column errand.job_choice.fingerprint is 'what errand_internal.fingerprint returns for the last error';
comment on column errand.job_choice.created_after is 'jobs enqueued at or after this time';
comment on column errand.job_choice.created_before is 'jobs enqueued before this time';
comment on column errand.job_choice.ended_after is 'jobs that ended at or after this time';
comment on column errand.job_choice.ended_before is 'jobs that ended before this time';
comment on column errand.job_choice.batch is 'jobs of this batch';

create table errand.bulk (
    id bigint generated always as identity,
    requested_at timestamptz not null default now(),
    changed_at timestamptz,
    ended_at timestamptz,
    from_id bigint not null,
    after_id bigint not null,
    upto_id bigint not null,
    changed bigint not null default 0,
    skipped int not null default 0,
    pass smallint not null default 1,
    action_id bigint,
    action text not null,
    filter jsonb not null,
    reason text not null,
    who text not null default session_user,
    stopped_by text,
    stopped_reason text,
    constraint bulk_pkey primary key (id),
    constraint bulk_action check (action in ('cancel', 'discard'))
) with (fillfactor = 50);
-- The next bulk action: errand_internal.run_bulk.
create index bulk_unended_index on errand.bulk (id) where ended_at is null;
comment on table errand.bulk is
    'Bulk actions: changes of all jobs that match a filter, which maintenance makes in batches';
comment on column errand.bulk.id is 'the number of the bulk action';
comment on column errand.bulk.requested_at is 'when it was requested';
comment on column errand.bulk.changed_at is 'when its last batch was made; null = none yet';
comment on column errand.bulk.ended_at is 'when it was done or stopped; null = it goes on';
comment on column errand.bulk.from_id is 'jobs above this id are read';
comment on column errand.bulk.after_id is 'this pass has read all jobs up to this id';
comment on column errand.bulk.upto_id is 'jobs up to this id are read: those that were enqueued before the request';
comment on column errand.bulk.changed is 'number of jobs that it has changed';
comment on column errand.bulk.skipped is 'number of jobs of this pass that another session had locked';
comment on column errand.bulk.pass is 'after a pass that has skipped jobs, another one follows: 10 at most';
comment on column errand.bulk.action_id is 'its action in errand.audit';
comment on column errand.bulk.action is 'cancel or discard';
comment on column errand.bulk.filter is 'the filter, as errand_internal.job_filter reads it';
comment on column errand.bulk.reason is 'why, in the words of the operator';
comment on column errand.bulk.who is 'the login of the operator';
comment on column errand.bulk.stopped_by is 'who stopped it before its end';
comment on column errand.bulk.stopped_reason is 'why, in the words of that operator';

create table errand.retention (
    set_at timestamptz not null default now(),
    keep interval not null,
    kind text not null,
    state text not null,
    set_by text not null default session_user,
    reason text not null,
    constraint retention_pkey primary key (kind, state),
    constraint retention_state check (state in ('succeeded', 'failed', 'cancelled', 'obsolete'))
);
comment on table errand.retention is
    'How long ended jobs of a kind stay, as operators have set it: this counts before the retention of the program';
comment on column errand.retention.set_at is 'when it was set';
comment on column errand.retention.keep is 'how long the jobs stay after their end';
comment on column errand.retention.kind is 'the jobs'' kind';
comment on column errand.retention.state is 'the state of the jobs: succeeded, failed, cancelled or obsolete';
comment on column errand.retention.set_by is 'the login of the operator';
comment on column errand.retention.reason is 'why, in the words of the operator';

create table errand.job_count (
    jobs bigint not null,
    oldest_due_at timestamptz,
    queue text not null,
    kind text not null,
    state text not null,
    constraint job_count_pkey primary key (queue, kind, state)
) with (fillfactor = 50);
comment on table errand.job_count is 'How many jobs there are, by the last statistics of maintenance';
comment on column errand.job_count.jobs is 'number of jobs; scaled up from a sample if the table is large';
comment on column errand.job_count.oldest_due_at is
    'since when the oldest of them is due, among kinds that a live worker of the queue has; '
    'all kinds if it has no worker';
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
comment on table errand.throughput is
    'Rates and times of the latest completions, by queue and by kind, by the last statistics of maintenance';
comment on column errand.throughput.span is 'the last 5 minutes, or the last hour';
comment on column errand.throughput.succeeded is 'jobs that succeeded';
comment on column errand.throughput.failed is 'jobs that failed for good';
comment on column errand.throughput.retried is 'attempts that failed and are retried';
comment on column errand.throughput.wait_p50_ms is 'from due to started, median, in milliseconds';
comment on column errand.throughput.wait_p95_ms is 'from due to started, 95th percentile';
comment on column errand.throughput.wait_p99_ms is 'from due to started, 99th percentile';
comment on column errand.throughput.run_p50_ms is 'from started to completed, median, in milliseconds';
comment on column errand.throughput.run_p95_ms is 'from started to completed, 95th percentile';
comment on column errand.throughput.run_p99_ms is 'from started to completed, 99th percentile';
comment on column errand.throughput.subject is 'queue or kind';
comment on column errand.throughput.name is 'name of the queue or kind';

create table errand.home (
    system_identifier bigint not null,
    database_oid oid not null,
    adopted_at timestamptz not null default now(),
    is_only boolean not null default true,
    cell smallint not null default 0,
    database_name text not null,
    error_key uuid not null default gen_random_uuid(),
    constraint home_pkey primary key (is_only),
    constraint home_is_only check (is_only),
    constraint home_cell check (cell between 0 and 1023)
);
comment on table errand.home is 'One row: the database of this queue. In any other database the queue is a copy';
comment on column errand.home.system_identifier is 'its cluster, as pg_control_system() shows it';
comment on column errand.home.database_oid is 'its oid in pg_database';
comment on column errand.home.adopted_at is 'when the schema was created, or errand.adopt was called';
comment on column errand.home.is_only is 'true: allows one row';
comment on column errand.home.cell is 'which cell it is: errand.cell';
comment on column errand.home.database_name is 'its name in pg_database';
comment on column errand.home.error_key is 'secret key of errand_internal.error_id';

insert into errand.home (system_identifier, database_oid, database_name)
select control.system_identifier, here.oid, here.datname
from pg_control_system() as control
cross join pg_database as here
where here.datname = current_database();

create table errand.api_token (
    set_at timestamptz not null default now(),
    name text not null,
    hash bytea not null,
    kinds text[],
    queues text[],
    set_by text not null default session_user,
    constraint api_token_pkey primary key (name),
    -- The token of a request: errand_internal.token_of.
    constraint api_token_hash unique (hash)
);
comment on table errand.api_token is
    'The tokens of the HTTP API: who may enqueue what by it. A job belongs to the token that enqueued it';
comment on column errand.api_token.set_at is 'when it was set';
comment on column errand.api_token.name is 'the token''s name, which its jobs have: options.token';
comment on column errand.api_token.hash is 'SHA-256 of the token, which is stored nowhere';
comment on column errand.api_token.kinds is 'the kinds that it may enqueue; null = all';
comment on column errand.api_token.queues is 'the queues that it may enqueue into; null = all';
comment on column errand.api_token.set_by is 'the login that set it';

create table errand.app (
    name text not null,
    number bigint not null generated always as identity,
    constraint app_pkey primary key (name)
);
comment on table errand.app is 'The installed apps, each with a schema of its own';
comment on column errand.app.name is 'name of the app and of its schema';
comment on column errand.app.number is 'the order in which apps were added: an app after those that it needs';

create table errand.declaration (
    part text not null,
    object text not null,
    is_view boolean not null,
    roles text[] not null,
    hidden text[] not null default '{}',
    topics text[] not null default '{}',
    constraint declaration_pkey primary key (object)
);
comment on table errand.declaration is
    'Who may call each function and read each view, from the heads of their scripts: '
    'for errand_internal.rights and errand.help';
comment on column errand.declaration.part is 'engine, the app, or migrate for the tables of errand migrate';
comment on column errand.declaration.object is 'schema and name of the function or view';
comment on column errand.declaration.is_view is 'whether it is a view';
comment on column errand.declaration.roles is 'the roles, without errand_: enqueuer, worker, ops, monitor';
comment on column errand.declaration.hidden is
    'columns that errand_monitor may not read: they say whose something is, or what it says';
comment on column errand.declaration.topics is 'topics of errand.help';
insert into errand.declaration (part, object, is_view, roles, topics)
select 'migrate', 'errand.' || name, true, '{worker,ops,monitor}', '{upgrades}'
from unnest('{migration,script,upgrade,app}'::text[]) as name;

create type errand.moving_job as (
    id bigint,
    created_at timestamptz,
    run_at timestamptz,
    not_after timestamptz,
    attempt smallint,
    crashes smallint,
    attempts jsonb,
    payload jsonb,
    payload_bytes int,
    is_due boolean,
    queue text,
    kind text,
    priority smallint,
    max_attempts smallint,
    unique_key text,
    limit_key text,
    rate_key text,
    guard text,
    tags text[],
    subject text,
    options jsonb
);
comment on type errand.moving_job is
    'A waiting job on its way to another cell: the columns of errand.job that go along';
comment on column errand.moving_job.id is 'the job''s id';
comment on column errand.moving_job.created_at is 'when it was enqueued';
comment on column errand.moving_job.run_at is 'the earliest time of its start';
comment on column errand.moving_job.not_after is 'the latest time of its start';
comment on column errand.moving_job.attempt is 'number of attempts so far';
comment on column errand.moving_job.crashes is 'number of crashes of a worker in a row in which it was running';
comment on column errand.moving_job.attempts is 'attempts that did not succeed';
comment on column errand.moving_job.payload is 'the handler''s argument';
comment on column errand.moving_job.payload_bytes is 'length of the payload as text, if it is over 2 KB';
comment on column errand.moving_job.is_due is 'whether it was available or parked, and not scheduled';
comment on column errand.moving_job.queue is 'its queue';
comment on column errand.moving_job.kind is 'its kind';
comment on column errand.moving_job.priority is '1 (first) to 4 (last)';
comment on column errand.moving_job.max_attempts is 'number of attempts';
comment on column errand.moving_job.unique_key is 'always null: a job with a key stays in its cell';
comment on column errand.moving_job.limit_key is 'always null: a job with a limit stays in its cell';
comment on column errand.moving_job.rate_key is 'always null: a job with a rate stays in its cell';
comment on column errand.moving_job.guard is 'its guard';
comment on column errand.moving_job.tags is 'words to find it by';
comment on column errand.moving_job.subject is 'the user whose job it is';
comment on column errand.moving_job.options is 'what only its worker reads';

-- Jobs on their way to another cell, a row a batch: they are nowhere else until the other cell has them.
create table errand.outgoing (
    taken_at timestamptz not null default now(),
    move uuid not null,
    batch int not null,
    to_cell smallint not null,
    jobs errand.moving_job[] not null,
    constraint outgoing_pkey primary key (move, batch)
);
comment on table errand.outgoing is 'Jobs on their way to another cell, a row a batch: errand cells move';
comment on column errand.outgoing.taken_at is 'when they left errand.job';
comment on column errand.outgoing.move is 'the move';
comment on column errand.outgoing.batch is 'the batch''s number in the move';
comment on column errand.outgoing.to_cell is 'the cell that gets them';
comment on column errand.outgoing.jobs is 'the jobs';

create table errand.incoming (
    done_at timestamptz not null default now(),
    move uuid not null,
    batch int not null,
    constraint incoming_pkey primary key (move, batch)
);
-- errand_internal.prune, the oldest.
create index incoming_done_at_index on errand.incoming (done_at);
comment on table errand.incoming is 'Batches of jobs that came from other cells, for a year: a second one is ignored';
comment on column errand.incoming.done_at is 'when they arrived';
comment on column errand.incoming.move is 'the move';
comment on column errand.incoming.batch is 'the batch''s number in the move';

create table errand.moved_job (
    job_id bigint not null,
    moved_on date not null default current_date,
    to_cell smallint not null,
    constraint moved_job_pkey primary key (job_id)
);
-- errand_internal.prune, the oldest.
create index moved_job_moved_on_index on errand.moved_job (moved_on);
comment on table errand.moved_job is 'Jobs that another cell has now: the front asks for them by their ids';
comment on column errand.moved_job.job_id is 'the job';
comment on column errand.moved_job.moved_on is 'the day of its move';
comment on column errand.moved_job.to_cell is 'the cell that has it';
