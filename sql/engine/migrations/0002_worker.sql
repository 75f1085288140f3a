-- 0002_worker: the tables of workers: leases, claims, marks, completions, progress, steps and orders.
--
-- Why     A worker holds one lease for all its jobs. The records of its claims say what it held when it is lost.
--         Of the jobs with the same order key, one may run.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create table errand.worker (
    id bigint generated always as identity,
    started_at timestamptz not null default now(),
    heartbeat_at timestamptz not null default now(),
    missed_at timestamptz,
    lease interval not null,
    heartbeat_interval interval not null default '5 seconds',
    drained_at timestamptz,
    marks_moved_at timestamptz not null default now(),
    running int not null default 0,
    slots int,
    queue_slots int[],
    likeness int not null default 0,
    maintains boolean not null default false,
    name text not null,
    version text not null,
    queues text[] not null,
    kinds text[] not null,
    marks jsonb not null default '{}',
    server_start text,
    login text not null default session_user,
    drained_by text,
    drained_reason text,
    pulls_as uuid,
    unnamed bigint[] not null default '{}',
    constraint worker_pkey primary key (id)
) with (fillfactor = 20);
-- Each errand.pull finds its worker: errand_internal.renew_pulling.
create unique index worker_pulls_as_index on errand.worker (pulls_as) where pulls_as is not null;

comment on table errand.worker is 'The workers that hold a lease. A worker without a row holds no jobs';
comment on column errand.worker.id is 'the worker''s id: each start has a new one';
comment on column errand.worker.started_at is 'when it registered';
comment on column errand.worker.heartbeat_at is 'its last heartbeat';
comment on column errand.worker.missed_at is
    'when errand_internal.rescue last found a heartbeat missing; void if one has come since';
comment on column errand.worker.lease is 'how long after its last heartbeat it may count as lost';
comment on column errand.worker.heartbeat_interval is 'the time between two heartbeats, at most a third of the lease';
comment on column errand.worker.drained_at is 'since when it claims nothing (errand.drain_worker); null = it claims';
comment on column errand.worker.marks_moved_at is 'the heartbeat that last changed marks';
comment on column errand.worker.running is 'number of its running jobs at its last heartbeat';
comment on column errand.worker.slots is 'how many jobs it runs at once, over all of its queues; null = it did not say';
comment on column errand.worker.queue_slots is
    'how many jobs it runs at once from each of its queues, in their order; null = it did not say, or other databases '
    'share them';
comment on column errand.worker.likeness is
    'hash of queues and kinds: idle workers with the same one share probes and wake-ups';
comment on column errand.worker.maintains is 'whether it also does maintenance';
comment on column errand.worker.name is 'host:pid, for people; the id identifies it';
comment on column errand.worker.version is 'the program''s version';
comment on column errand.worker.queues is 'the queues that it claims from';
comment on column errand.worker.kinds is 'the kinds that it can run: it claims no others';
comment on column errand.worker.marks is
    'its marks by queue: four, one for each priority, then four positions up to which a scan below the mark found '
    'nothing. A new worker of the same kinds starts from them';
comment on column errand.worker.server_start is 'errand_internal.server_start() when the marks were taken';
comment on column errand.worker.login is 'session_user when it registered';
comment on column errand.worker.drained_by is 'who drained it';
comment on column errand.worker.pulls_as is
    'the id by which it calls errand.pull; null for a worker of Errand''s program';
comment on column errand.worker.unnamed is
    'positions of jobs that it has pulled and did not name in its last check: one that it does not name in the next '
    'either is taken back';
comment on column errand.worker.drained_reason is 'why it is drained, in the words of the operator';

-- Each claim writes a row. The jobs of a lost worker are found by these rows, however many other jobs wait.
create table errand.claim (
    worker_id bigint not null,
    claimed_at timestamptz not null default now(),
    generation int not null,
    job_ids bigint[] not null
);
-- Inside the row it takes less WAL than in a TOAST table.
alter table errand.claim alter column job_ids set storage main;
-- The jobs of a lost worker, and the rows that one needs no more: errand_internal.rescue, prune_claims_v1.
create index claim_worker_index on errand.claim (worker_id, generation);
alter table errand.claim replica identity full;
comment on table errand.claim is 'One row a claim, for as long as its worker may hold one of its jobs';
comment on column errand.claim.worker_id is 'the worker that claimed';
comment on column errand.claim.claimed_at is 'when';
comment on column errand.claim.generation is
    'the generation of the claim: a worker removes a generation''s rows once it holds none of their jobs';
comment on column errand.claim.job_ids is 'the jobs that it claimed; errand.job says which of them it still holds';

create table errand.mark (
    stored_at timestamptz not null default now(),
    server_start text not null,
    kinds text[] not null,
    marks jsonb not null
);
alter table errand.mark replica identity full;
comment on table errand.mark is 'The marks of workers that have left or were lost: the next worker starts from them';
comment on column errand.mark.stored_at is 'when the worker left or was found to be lost';
comment on column errand.mark.server_start is
    'errand_internal.server_start() when the marks were taken: they are void after another start';
comment on column errand.mark.kinds is 'the kinds of the worker: its marks are void for other kinds';
comment on column errand.mark.marks is 'the marks, as in errand.worker';

-- The histograms' buckets: the first ends at 1 ms, and each next one at sqrt(2) times the end of the one before.
create table errand.finished_per_minute (
    minute timestamptz not null,
    worker_id bigint not null,
    jobs bigint not null,
    wait_ms bigint not null,
    run_ms bigint not null,
    queue text not null,
    kind text not null,
    outcome text not null,
    wait_histogram int[] not null default '{}',
    run_histogram int[] not null default '{}',
    constraint finished_per_minute_pkey primary key (minute, queue, kind, outcome, worker_id)
) with (fillfactor = 50);
-- The rows of workers that are to be merged: errand_internal.merge_finished, errand.metrics.
create index finished_per_minute_unmerged_index on errand.finished_per_minute (minute) where worker_id <> 0;
comment on table errand.finished_per_minute is
    'Completed attempts by minute: each worker adds to its own rows once a second, so no view has to count jobs';
comment on column errand.finished_per_minute.minute is 'the minute in which they were counted, by the server''s clock';
comment on column errand.finished_per_minute.worker_id is
    'the worker that counted; 0 = all workers, merged after the minute';
comment on column errand.finished_per_minute.jobs is 'number of attempts';
comment on column errand.finished_per_minute.wait_ms is 'sum over the attempts: from due to started';
comment on column errand.finished_per_minute.run_ms is 'sum over the attempts: from started to completed';
comment on column errand.finished_per_minute.queue is 'the jobs'' queue';
comment on column errand.finished_per_minute.kind is 'the jobs'' kind';
comment on column errand.finished_per_minute.outcome is 'succeeded, failed, cancelled, retried, snoozed or released';
comment on column errand.finished_per_minute.wait_histogram is
    'from due to started: how many took < 1 ms, < 1.4 ms, < 2 ms and so on by factors of sqrt(2)';
comment on column errand.finished_per_minute.run_histogram is 'from started to completed: the same';

create table errand.finished_total (
    jobs bigint not null default 0,
    wait_ms bigint not null default 0,
    run_ms bigint not null default 0,
    last_minute timestamptz not null,
    queue text not null,
    kind text not null,
    outcome text not null,
    wait_histogram bigint[] not null default '{}',
    run_histogram bigint[] not null default '{}',
    constraint finished_total_pkey primary key (queue, kind, outcome)
) with (fillfactor = 50);
comment on table errand.finished_total is 'All completed attempts, without those that are not merged yet';
comment on column errand.finished_total.jobs is 'number of attempts';
comment on column errand.finished_total.wait_ms is 'sum over the attempts: from due to started';
comment on column errand.finished_total.run_ms is 'sum over the attempts: from started to completed';
comment on column errand.finished_total.last_minute is 'the minute of the last one';
comment on column errand.finished_total.queue is 'the jobs'' queue';
comment on column errand.finished_total.kind is 'the jobs'' kind';
comment on column errand.finished_total.outcome is 'as in errand.finished_per_minute';
comment on column errand.finished_total.wait_histogram is
    'from due to started, with the buckets of errand.finished_per_minute';
comment on column errand.finished_total.run_histogram is 'from started to completed: the same';

create table errand.counted (
    worker_id bigint not null,
    upto_transaction bigint not null,
    beyond bigint[] not null default '{}',
    constraint counted_pkey primary key (worker_id)
) with (fillfactor = 50);
comment on table errand.counted is
    'The completions that each worker has counted: maintenance counts the rest for a worker that was killed';
comment on column errand.counted.worker_id is
    'the worker; the row stays until all its completions are counted';
comment on column errand.counted.upto_transaction is
    'completions of all transactions up to this id are counted, as pg_current_xact_id() numbers them';
comment on column errand.counted.beyond is 'later transactions whose completions are counted too';

create table errand.progress (
    job_id bigint not null,
    queue_position bigint not null,
    updated_at timestamptz not null default now(),
    fraction real,
    attempt smallint not null,
    message text,
    output jsonb,
    log text[],
    state jsonb,
    constraint progress_pkey primary key (job_id)
) with (fillfactor = 50);
-- errand_internal.prune, the oldest.
create index progress_updated_at_index on errand.progress (updated_at);
comment on table errand.progress is 'Progress and job log of running attempts, and of the last attempt of each job';
comment on column errand.progress.job_id is 'the job';
comment on column errand.progress.queue_position is
    'the queue position of the attempt: an older attempt changes nothing';
comment on column errand.progress.updated_at is 'when it last reported';
comment on column errand.progress.fraction is 'how much is done, 0 to 1';
comment on column errand.progress.attempt is 'the attempt that reports';
comment on column errand.progress.message is 'what the handler does, in words';
comment on column errand.progress.output is 'the handler''s result so far';
comment on column errand.progress.log is 'the last log lines: at most 50, and 8 KB';
comment on column errand.progress.state is 'what its SQL function is called with again; null = at its beginning';

create table errand.step (
    job_id bigint not null,
    recorded_at timestamptz not null default now(),
    name text not null,
    output jsonb,
    constraint step_pkey primary key (job_id, name)
);
comment on table errand.step is
    'Results of steps, for the next attempts of their jobs: errand.step. They stay while the job can be retried';
comment on column errand.step.job_id is 'the job';
comment on column errand.step.recorded_at is 'when it was recorded';
comment on column errand.step.name is 'the step''s name, by which the handler finds it again';
comment on column errand.step.output is 'what the step returned; null = nothing';

create type errand.outcome as (
    outcome text,
    output jsonb,
    delay interval,
    reason text,
    state jsonb
);
comment on type errand.outcome is 'What a SQL function that handles jobs returns: errand.put_handler';
comment on column errand.outcome.outcome is 'succeeded, again, snoozed, waiting, cancelled or failed; null = succeeded';
comment on column errand.outcome.output is 'succeeded: stored with the job; waiting: {"for", "by"}';
comment on column errand.outcome.delay is 'snoozed or waiting: the time until the job runs again';
comment on column errand.outcome.reason is 'cancelled or failed: why';
comment on column errand.outcome.state is 'again: what the function is called with again';

create table errand.handler (
    registered_at timestamptz not null default now(),
    timeout interval,
    kind text not null,
    function text,
    endpoint text,
    registered_by text,
    constraint handler_pkey primary key (kind),
    constraint handler_what check (
        num_nonnulls(function, endpoint) = 1 and (timeout is null) = (function is null))
);
comment on table errand.handler is 'The kinds whose handler is a SQL function or an endpoint';
comment on column errand.handler.registered_at is 'when it was registered so';
comment on column errand.handler.timeout is
    'a call of the function that takes longer is cancelled: at most 5 minutes; null = errand.endpoint has it';
comment on column errand.handler.kind is 'the kind';
comment on column errand.handler.function is 'the function''s name, quoted; null = an endpoint handles it';
comment on column errand.handler.endpoint is 'the endpoint: errand.put_http_handler; null = a function handles it';
comment on column errand.handler.registered_by is
    'the login that has registered it, which belongs to the function''s owner; null = errand migrate';

create table errand.endpoint (
    set_at timestamptz not null default now(),
    timeout interval not null,
    callback_timeout interval not null,
    max_running int,
    allows_private boolean not null,
    name text not null,
    url text not null,
    secret_name text not null,
    set_by text not null default session_user,
    constraint endpoint_pkey primary key (name)
);
comment on table errand.endpoint is 'The servers that handle jobs by HTTP: errand.put_endpoint';
comment on column errand.endpoint.set_at is 'when it was set so';
comment on column errand.endpoint.timeout is 'a request that takes longer has failed';
comment on column errand.endpoint.callback_timeout is
    'how long a job that was accepted with 202 waits for its callback';
comment on column errand.endpoint.max_running is
    'how many of its requests may run at once, as it was set here; errand.limit has the number in force';
comment on column errand.endpoint.allows_private is 'whether its address may be one of a private network';
comment on column errand.endpoint.name is 'the endpoint''s name, that of its circuit (endpoint.NAME) and test jobs too';
comment on column errand.endpoint.url is 'where jobs are posted; its query may be secret';
comment on column errand.endpoint.secret_name is
    'which secret of the workers signs requests: the secret itself is in no row';
comment on column errand.endpoint.set_by is 'the login of the operator';

-- In tables of their own: only jobs with an order key have rows here, and no index of errand.job is needed.
create table errand.order_job (
    job_id bigint not null,
    order_key text not null,
    constraint order_job_pkey primary key (order_key, job_id)
);
comment on table errand.order_job is
    'The unfinished jobs with an order key that have been ready to run, and failed ones that block their key';
comment on column errand.order_job.job_id is 'the job: of a key, the lowest comes next';
comment on column errand.order_job.order_key is 'its order key';

create table errand.order_slot (
    job_id bigint not null,
    blocked_at timestamptz,
    order_key text not null,
    constraint order_slot_pkey primary key (order_key)
) with (fillfactor = 50);
-- The keys that failed jobs block: errand.blocked_keys.
create index order_slot_blocked_index on errand.order_slot (blocked_at) where blocked_at is not null;
comment on table errand.order_slot is
    'The job of each order key that may run: until it has ended, no other one of the key starts';
comment on column errand.order_slot.job_id is 'the job';
comment on column errand.order_slot.blocked_at is 'when it failed, if it blocks its key; null = it does not';
comment on column errand.order_slot.order_key is 'the order key';

create table errand.order_check (
    id bigint generated always as identity,
    order_key text not null,
    constraint order_check_pkey primary key (id)
);
comment on table errand.order_check is
    'Order keys to look at again, since an end and a wait that commit side by side don''t see each other';
comment on column errand.order_check.id is 'the row''s id';
comment on column errand.order_check.order_key is 'the order key';
