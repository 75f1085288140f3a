-- 0003_admission: the tables of guards, limits, rates and circuits.
--
-- Why     An enqueue may ask for a guard or a limit, and a queue may have a rate. Jobs park while a circuit is open.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.

-- The function's name and not a regprocedure: pg_upgrade refuses tables with such a column.
create table errand.guard (
    name text not null,
    function text not null,
    registered_at timestamptz not null default now(),
    slow_at timestamptz,
    slow_ms real,
    constraint guard_pkey primary key (name),
    constraint guard_name check (name ~ '^[a-z][a-z0-9_.-]{0,99}$')
);
comment on table errand.guard is 'The guards: functions that say whether a job is still wanted';
comment on column errand.guard.name is 'the guard''s name, for errand.enqueue';
comment on column errand.guard.function is
    'schema.name of a function that takes the payload (jsonb) and returns boolean';
comment on column errand.guard.registered_at is 'when it was registered';
comment on column errand.guard.slow_at is
    'when a claim last left jobs in the queue because the guard was slow; noted at most each 10 s';
comment on column errand.guard.slow_ms is 'average time of a call then';

create table errand.limit (
    limit_key text not null,
    max_running int not null,
    has_slots boolean not null default false,
    set_at timestamptz not null default now(),
    constraint limit_pkey primary key (limit_key),
    constraint limit_max_running check (max_running >= 0)
);
-- The patterns that a key may fit: errand_internal.bound_of.
create index limit_pattern_index on errand.limit (limit_key) where limit_key like '%*';
-- Whether a limit is so new that running jobs have no slots: the claim, errand_internal.give_slots.
create index limit_without_slots_index on errand.limit (limit_key) where not has_slots;
comment on table errand.limit is 'How many jobs with the same limit_key may run at once, over all workers';
comment on column errand.limit.limit_key is
    'a key, or a prefix and an asterisk: tenant/* gives each tenant a limit of its own';
comment on column errand.limit.max_running is 'number of jobs; 0 parks all of them';
comment on column errand.limit.has_slots is
    'whether jobs that ran before the limit have slots: see errand_internal.give_slots';
comment on column errand.limit.set_at is 'when it was set';

-- A slot that changes hands gets a new row, and the old one is deleted. The newest row of a slot is the last index
-- entry of its number, so a read from there passes no old row, however many a held snapshot keeps.
create table errand.limit_slot (
    job_id bigint not null,
    queue_position bigint not null,
    admitted_at timestamptz not null,
    slot int not null,
    limit_key text not null,
    constraint limit_slot_pkey primary key (limit_key, slot, admitted_at)
) with (fillfactor = 70);
-- The slots of jobs that end.
create index limit_slot_job_index on errand.limit_slot (job_id);
comment on table errand.limit_slot is
    'The jobs that may run under a limit. A slot counts while its job has that position, so a crash leaks none';
comment on column errand.limit_slot.job_id is 'the job that may run';
comment on column errand.limit_slot.queue_position is 'the job''s position when it got the slot';
comment on column errand.limit_slot.admitted_at is 'when it got the slot: the newest row of a slot counts';
comment on column errand.limit_slot.slot is 'the slot''s number, from 1 on';
comment on column errand.limit_slot.limit_key is 'the limit''s key';

create table errand.limit_mark (
    job_id bigint not null,
    run_at timestamptz not null,
    marked_at timestamptz not null,
    priority smallint not null,
    limit_key text not null,
    constraint limit_mark_pkey primary key (limit_key, priority, marked_at)
) with (fillfactor = 70);
comment on table errand.limit_mark is
    'How far the parked jobs of a limit were released: a release starts there and reads no entries of released jobs';
comment on column errand.limit_mark.job_id is 'the last job that was released';
comment on column errand.limit_mark.run_at is 'its run_at';
comment on column errand.limit_mark.marked_at is 'when it was released: the newest row of a priority counts';
comment on column errand.limit_mark.priority is 'its priority';
comment on column errand.limit_mark.limit_key is 'the limit''s key';

create table errand.rate (
    queue text not null,
    per interval not null,
    allowed int not null,
    constraint rate_pkey primary key (queue),
    constraint rate_per check (
        per >= interval '100 milliseconds' and extract(year from per) = 0 and extract(month from per) = 0),
    constraint rate_allowed check (allowed >= 1)
);
comment on table errand.rate is 'How many jobs of a queue may start within any span of that length, over all workers';
comment on column errand.rate.queue is 'the queue';
comment on column errand.rate.per is 'the length of the span';
comment on column errand.rate.allowed is 'number of jobs that may start in it';

-- A table of its own, so that a session that changes a rate delays no claim.
create table errand.rate_log (
    queue text not null,
    first_at timestamptz[] not null,
    last_at timestamptz[] not null,
    jobs int[] not null,
    constraint rate_log_pkey primary key (queue)
) with (fillfactor = 20);
comment on table errand.rate_log is 'The latest starts in queues with a rate, in groups of a hundredth of the span';
comment on column errand.rate_log.queue is 'the queue';
comment on column errand.rate_log.first_at is 'start of the first job of each group, oldest group first';
comment on column errand.rate_log.last_at is
    'start of the last job of each group: the group counts until it is that old';
comment on column errand.rate_log.jobs is 'number of jobs in each group';

create table errand.key_rate (
    per interval not null,
    set_at timestamptz not null default now(),
    spacing double precision not null,
    grace double precision not null,
    allowed int not null,
    burst int not null,
    rate_key text not null,
    constraint key_rate_pkey primary key (rate_key),
    constraint key_rate_numbers check (allowed >= 1 and burst >= 1 and spacing > 0 and grace >= 1)
);
-- The patterns that a key may fit: errand_internal.rate_of.
create index key_rate_pattern_index on errand.key_rate (rate_key) where rate_key like '%*';
comment on table errand.key_rate is
    'How many jobs with the same rate_key may start in any span of that length, over all workers';
comment on column errand.key_rate.per is 'the length of the span';
comment on column errand.key_rate.set_at is 'when it was set';
comment on column errand.key_rate.spacing is
    'time between two starts in seconds: (per + grace) / (allowed + 1), so that late starts exceed no bound';
comment on column errand.key_rate.grace is
    'how late a reserved start may be, in seconds: the longer one of 1 s and per / allowed';
comment on column errand.key_rate.allowed is 'number of jobs that may start in it';
comment on column errand.key_rate.burst is 'how many of them may start at once, after a time without starts';
comment on column errand.key_rate.rate_key is
    'a key, or a prefix and an asterisk: tenant/* gives each tenant a rate of its own';

-- Each change is a new row, and the old one is deleted. The newest one is the last index entry of its key, so a read
-- from there passes no old row, however many a held snapshot keeps.
create table errand.rate_clock (
    tat double precision not null,
    rate_key text not null,
    constraint rate_clock_pkey primary key (rate_key, tat)
) with (fillfactor = 70);
comment on table errand.rate_clock is
    'How far the starts of each key are given away; a key without a row may start burst jobs at once';
comment on column errand.rate_clock.tat is
    'the theoretical arrival time of GCRA, in seconds since 1970: a start moves it on by the spacing. The newest row '
    'counts';
comment on column errand.rate_clock.rate_key is 'the key';

-- Which job a reservation is for is not said in errand.job: an index there would cost every enqueue. Who takes a job
-- out of the queue need not know of its reservation: errand_internal.check_rates finds that it isn't used.
create table errand.rate_reservation (
    start_at timestamptz not null,
    job_id bigint not null,
    rate_key text not null,
    constraint rate_reservation_pkey primary key (rate_key, start_at, job_id)
) with (fillfactor = 70);
-- Those that are due next: errand_internal.check_rates.
create index rate_reservation_start_index on errand.rate_reservation (start_at);
comment on table errand.rate_reservation is
    'Starts that are reserved for jobs over their rate. One counts while its job waits and has start_at as its run_at';
comment on column errand.rate_reservation.start_at is 'the reserved time';
comment on column errand.rate_reservation.job_id is 'the job that may start then';
comment on column errand.rate_reservation.rate_key is 'the key';

create table errand.rate_change (
    id bigint generated always as identity,
    rate_key text not null,
    constraint rate_change_pkey primary key (id)
);
comment on table errand.rate_change is
    'Rates that have changed, until errand_internal.check_rates has given the jobs of their keys new times';
comment on column errand.rate_change.id is 'the row''s id';
comment on column errand.rate_change.rate_key is 'the key or pattern';

create table errand.circuit (
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
    constraint circuit_pkey primary key (name),
    -- kind:NAME is the pause of a kind. No circuit can be named so: check_circuit refuses the colon.
    constraint circuit_name check (name ~ '^(kind:)?[a-z][a-z0-9_.-]{0,99}$'),
    constraint circuit_opened_by check (opened_by in ('ops', 'failures', 'handler')),
    constraint circuit_numbers check (
        threshold >= 1 and threshold_window > interval '0' and probe_every > interval '0')
) with (fillfactor = 50);
-- Whether any circuit is open: errand_internal.admit, checked_kinds.
create index circuit_open_index on errand.circuit (name) where opened_at is not null;
comment on table errand.circuit is
    'The circuits. While a circuit is open, the jobs park and spend no attempts';
comment on column errand.circuit.name is 'the circuit''s name, such as storage or apns';
comment on column errand.circuit.opened_at is 'when the circuit opened; null = it is closed';
comment on column errand.circuit.until is
    'when a job may probe it; null while the circuit is open = only an operator closes it';
comment on column errand.circuit.opened_by is 'ops, failures (too many in the window) or handler (it named a time)';
comment on column errand.circuit.reason is 'the latest reason';
comment on column errand.circuit.failures is 'number of failures in the current window';
comment on column errand.circuit.failing_since is 'start of the current window';
comment on column errand.circuit.failed_at is 'the last failure';
comment on column errand.circuit.closed_at is 'when the circuit closed';
comment on column errand.circuit.released_at is 'when parked jobs were last released';
comment on column errand.circuit.probe_job_id is 'the job that probes it';
comment on column errand.circuit.probe_position is
    'the queue position of that job: with another position the probe is over';
comment on column errand.circuit.threshold is 'so many failures within threshold_window open the circuit';
comment on column errand.circuit.threshold_window is 'the length of the window';
comment on column errand.circuit.probe_every is 'time between two probes';

create type errand.claim_scope as (
    queue text,
    kinds text[],
    priorities smallint[],
    checked text[],
    is_bounded boolean,
    has_crashed boolean,
    has_handed_back boolean
);
comment on type errand.claim_scope is
    'What a claim looks for, the same in all of its passes';
comment on column errand.claim_scope.queue is 'its queue';
comment on column errand.claim_scope.kinds is 'the kinds that its worker runs';
comment on column errand.claim_scope.priorities is 'the order in which it reads the priorities';
comment on column errand.claim_scope.checked is
    'kinds whose jobs need an admission check: errand_internal.checked_kinds';
comment on column errand.claim_scope.is_bounded is 'whether limits are set';
comment on column errand.claim_scope.has_crashed is 'whether jobs of the queue wait that were running in a crash';
comment on column errand.claim_scope.has_handed_back is 'whether jobs of the queue wait that were handed back';

-- Why a job is parked. errand.job.parked_for begins with one of these.
create table errand.park_reason (
    prefix text not null,
    says text not null,
    released_by text not null,
    constraint park_reason_pkey primary key (prefix)
);
comment on table errand.park_reason is 'The reasons for which jobs are parked: errand.job.parked_for begins with one';
comment on column errand.park_reason.prefix is 'how parked_for begins; a name follows if it ends with a colon';
comment on column errand.park_reason.says is 'what the job waits for, as a format of that name';
comment on column errand.park_reason.released_by is 'the function that makes such jobs available again';
insert into errand.park_reason (prefix, says, released_by)
values
    ('circuit:', 'circuit %s is open', 'errand_internal.release_circuit'),
    ('circuit:kind:', 'kind %s is paused', 'errand_internal.release_circuit'),
    ('crash', 'it was in two crashes of its worker, and will run alone', 'errand_internal.release_crashed'),
    ('job:', 'job %s has not succeeded', 'errand_internal.release_children'),
    ('limit:', 'limit %s is full', 'errand_internal.release_limit'),
    ('order:', 'other jobs of the order key %s go first', 'errand_internal.release_heads'),
    ('signal:', 'signal %s has not come', 'errand_internal.release_waits');

create table errand.signal (
    id bigint generated always as identity,
    signalled_at timestamptz not null default now(),
    job_id bigint,
    name text not null,
    login text not null default session_user,
    payload jsonb not null,
    constraint signal_pkey primary key (id),
    constraint signal_name unique (name, login)
);
-- The callbacks of jobs: errand_internal.erase_subject.
create index signal_job_index on errand.signal (job_id) where job_id is not null;
comment on table errand.signal is 'Signals of the last 7 days, for jobs that wait for them or will: errand.signal';
comment on column errand.signal.id is 'the signal''s id: of those that a wait accepts, the lowest counts';
comment on column errand.signal.signalled_at is 'when it was sent';
comment on column errand.signal.job_id is
    'the job whose callback it is, for which alone it counts; null = it is no callback';
comment on column errand.signal.name is 'what jobs wait for';
comment on column errand.signal.login is
    'session_user: each login has a signal of that name; for callbacks the owner of errand''s schema';
comment on column errand.signal.payload is 'what a job gets that has waited for it';

create table errand.signal_wait (
    job_id bigint not null,
    until timestamptz not null,
    name text not null,
    role text,
    constraint signal_wait_pkey primary key (job_id)
);
-- The jobs that a signal wakes, and those whose time is over: errand.signal, errand_internal.release_waiting.
create index signal_wait_name_index on errand.signal_wait (name);
create index signal_wait_until_index on errand.signal_wait (until);
comment on table errand.signal_wait is
    'Jobs that wait for a signal, parked for signal:NAME. A row may outlive its wait, until its time is over';
comment on column errand.signal_wait.job_id is 'the job';
comment on column errand.signal_wait.until is 'when it runs without the signal';
comment on column errand.signal_wait.name is 'the signal''s name';
comment on column errand.signal_wait.role is
    'the role whose members may send it, beside those of errand_ops; null = only those';

create table errand.signal_check (
    id bigint generated always as identity,
    job_id bigint,
    writers xid8[],
    name text,
    constraint signal_check_pkey primary key (id)
);
comment on table errand.signal_check is
    'Waits to compare with the signals again, since a signal and a wait that commit side by side don''t see each other';
comment on column errand.signal_check.id is 'the row''s id';
comment on column errand.signal_check.job_id is 'the job that waits; null = all that wait for the name';
comment on column errand.signal_check.writers is
    'once these transactions have ended, each signal that the wait could have missed is visible; null = not known yet';
comment on column errand.signal_check.name is 'the signal''s name; null = see job_id';

create table errand.flow_check (
    id bigint generated always as identity,
    child_id bigint,
    parent_id bigint,
    writers xid8[],
    constraint flow_check_pkey primary key (id)
);
comment on table errand.flow_check is
    'Jobs that wait for others, to compare with their parents once more, since an end and an enqueue that commit side '
    'by side don''t see each other';
comment on column errand.flow_check.id is 'the row''s id';
comment on column errand.flow_check.child_id is 'the job that waits; null = all that wait for parent_id';
comment on column errand.flow_check.parent_id is 'a job that has ended; null = see child_id';
comment on column errand.flow_check.writers is
    'once these transactions have ended, each end that was missed is visible; null = not known yet';

create sequence errand.flows_begun as bigint;
create sequence errand.flows_ended as bigint;
comment on sequence errand.flows_begun is
    'Outside of transactions: how often jobs have begun to wait for others. No job waits while it equals flows_ended';
comment on sequence errand.flows_ended is
    'What flows_begun was when maintenance last found that no job waits: errand_internal.stop_flows';

-- An enqueue with unique_for: errand_internal.take_period. Rows are locked in the order of the keys.
create table errand.unique_period (
    job_id bigint not null,
    until timestamptz not null,
    unique_key text not null,
    subject text,
    constraint unique_period_pkey primary key (unique_key)
);
-- errand_internal.prune, the oldest; errand_internal.erase_subject.
create index unique_period_until_index on errand.unique_period (until);
create index unique_period_subject_index on errand.unique_period (subject) where subject is not null;
comment on table errand.unique_period is
    'Unique keys that no other job gets for a time (errand.enqueue, unique_for), however long ended jobs stay';
comment on column errand.unique_period.job_id is 'the job that was enqueued with the key';
comment on column errand.unique_period.until is 'when the time ends: counted from the enqueue';
comment on column errand.unique_period.unique_key is 'the key';
comment on column errand.unique_period.subject is 'the user whose job it is; null = nobody''s';

-- Refused enqueues only append here, so they wait for nobody: errand_internal.merge_refused.
create table errand.refused_enqueue (
    refused_at timestamptz not null default now(),
    enqueues bigint not null,
    is_merged boolean not null default false,
    kind text not null,
    reason text not null
);
alter table errand.refused_enqueue replica identity full;
comment on table errand.refused_enqueue is
    'Enqueues of the last hour that inserted no job: errand.refused_enqueues shows them';
comment on column errand.refused_enqueue.refused_at is 'when; if is_merged, the minute';
comment on column errand.refused_enqueue.enqueues is 'number of enqueues';
comment on column errand.refused_enqueue.is_merged is 'whether the row is the sum of a minute';
comment on column errand.refused_enqueue.kind is 'the kind';
comment on column errand.refused_enqueue.reason is 'unique, period, running, replaced, rescheduled, merged or repeated';

create table errand.refused_total (
    last_at timestamptz not null,
    enqueues bigint not null,
    kind text not null,
    reason text not null,
    constraint refused_total_pkey primary key (kind, reason)
);
comment on table errand.refused_total is 'Enqueues of earlier hours that inserted no job, by kind and reason';
comment on column errand.refused_total.last_at is 'the minute of the last one';
comment on column errand.refused_total.enqueues is 'number of enqueues';
comment on column errand.refused_total.kind is 'the kind';
comment on column errand.refused_total.reason is 'as in errand.refused_enqueue';

create table errand.callback_key (
    is_only boolean not null default true,
    key bytea not null,
    constraint callback_key_pkey primary key (is_only),
    constraint callback_key_is_only check (is_only)
);
comment on table errand.callback_key is 'One row: the key that signs callback tokens, errand_internal.callback_mac';
comment on column errand.callback_key.is_only is 'true: allows one row';
comment on column errand.callback_key.key is 'secret, 32 random bytes: workers that call endpoints get it';
insert into errand.callback_key (key)
values (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));
