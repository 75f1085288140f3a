-- job_status: every job that is on record, wherever its row is. By id it costs a few index reads; unfiltered, everything.
create or replace view errand.job_status as
select
    id, queue, kind, state, priority, attempt, max_attempts, crashes, run_at, created_at, started_at,
    null::timestamptz as finished_at, worker_id, unique_key, payload, attempts, null::jsonb as output, null::text as reason,
    not_after, limit_key, guard, tags, traceparent, parked_for
from errand.job
union all
select
    id, queue, kind, 'failed', priority, attempt, max_attempts, crashes, run_at, created_at, started_at, finished_at,
    worker_id, unique_key, payload, attempts, null, error, not_after, limit_key, guard, tags, traceparent, null
from errand.failed
union all
select
    id, queue, kind, state, priority, attempt, max_attempts, crashes, run_at, created_at, started_at, finished_at,
    worker_id, unique_key, payload, attempts, output, reason, not_after, limit_key, guard, tags, traceparent, null
from errand.history;
comment on view errand.job_status is 'Every job on record: waiting, running, failed and ended ones';
comment on column errand.job_status.id is 'names the job for ever';
comment on column errand.job_status.queue is 'which workers it is for';
comment on column errand.job_status.kind is 'which handler runs it';
comment on column errand.job_status.state is
    'scheduled, available, parked, running, succeeded, failed, cancelled or obsolete';
comment on column errand.job_status.priority is '1 (first) to 4 (last)';
comment on column errand.job_status.attempt is 'attempts so far, the running one included';
comment on column errand.job_status.max_attempts is 'the attempt after which a failure is final';
comment on column errand.job_status.crashes is 'attempts that ended because their worker was lost';
comment on column errand.job_status.run_at is 'not to be started before';
comment on column errand.job_status.created_at is 'when it was enqueued';
comment on column errand.job_status.started_at is 'when its latest attempt was claimed';
comment on column errand.job_status.finished_at is 'when it ended; null = it has not';
comment on column errand.job_status.worker_id is 'the worker of its latest attempt';
comment on column errand.job_status.unique_key is 'at most one unfinished job has it';
comment on column errand.job_status.payload is 'what its handler gets';
comment on column errand.job_status.attempts is 'ended attempts that did not succeed, each with its worker, times and error';
comment on column errand.job_status.output is 'what its handler answered';
comment on column errand.job_status.reason is 'the last error, or why it was cancelled or is obsolete';
comment on column errand.job_status.not_after is 'not to be started after';
comment on column errand.job_status.limit_key is 'the limit under which it runs';
comment on column errand.job_status.guard is 'the guard that is asked whether it is still wanted';
comment on column errand.job_status.tags is 'words to find it by';
comment on column errand.job_status.traceparent is 'the W3C trace context of its enqueue';
comment on column errand.job_status.parked_for is 'what it is parked for: limit:KEY, dependency:NAME or crash';
