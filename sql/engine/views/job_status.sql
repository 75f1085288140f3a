-- job_status: every job that is on record, wherever its row is. By id it costs a few index reads; unfiltered, everything.
--
-- What may hold data of its users (payload, attempts, output, last error, progress message, log) is null for those who
-- have errand_monitor only: errand.sees_content.
create or replace view errand.job_status as
select
    id, queue, kind, state, priority, attempt, max_attempts, crashes, run_at, created_at, started_at,
    null::timestamptz as finished_at, worker_id, unique_key,
    case when (select errand.sees_content()) then coalesce(
        payload,
        (select stored.payload from errand.payload as stored where stored.day = payload_day and stored.job_id = job.id))
    end as payload,
    case when (select errand.sees_content()) then attempts end as attempts,
    case when (select errand.sees_content())
        then (select output from errand.progress where job_id = job.id) end as output,
    null::text as reason,
    not_after, limit_key, guard, tags, traceparent, parked_for,
    (select fraction from errand.progress where job_id = job.id) as progress,
    case when (select errand.sees_content())
        then (select message from errand.progress where job_id = job.id) end as progress_message,
    (select updated_at from errand.progress where job_id = job.id) as progress_at,
    case when (select errand.sees_content())
        then (select log from errand.progress where job_id = job.id) end as log
from errand.job
union all
select
    id, queue, kind, 'failed', priority, attempt, max_attempts, crashes, run_at, created_at, started_at,
    finished_at, worker_id, unique_key,
    case when (select errand.sees_content()) then payload end,
    case when (select errand.sees_content()) then attempts end,
    case when (select errand.sees_content())
        then (select output from errand.progress where job_id = failed.id) end,
    case when (select errand.sees_content()) then error end,
    not_after, limit_key, guard, tags, traceparent, null,
    (select fraction from errand.progress where job_id = failed.id),
    case when (select errand.sees_content())
        then (select message from errand.progress where job_id = failed.id) end,
    (select updated_at from errand.progress where job_id = failed.id),
    case when (select errand.sees_content())
        then (select log from errand.progress where job_id = failed.id) end
from errand.failed
union all
select
    id, queue, kind, state, priority, attempt, max_attempts, crashes, run_at, created_at, started_at,
    finished_at, worker_id, unique_key,
    case when (select errand.sees_content()) then coalesce(
        payload,
        (select stored.payload from errand.payload as stored where stored.day = payload_day and stored.job_id = history.id))
    end,
    case when (select errand.sees_content()) then attempts end,
    case when (select errand.sees_content()) then output end,
    reason,
    not_after, limit_key, guard, tags, traceparent, null,
    (select fraction from errand.progress where job_id = history.id),
    case when (select errand.sees_content())
        then (select message from errand.progress where job_id = history.id) end,
    (select updated_at from errand.progress where job_id = history.id),
    case when (select errand.sees_content())
        then (select log from errand.progress where job_id = history.id) end
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
comment on column errand.job_status.payload is 'what its handler gets; null for errand_monitor';
comment on column errand.job_status.attempts is
    'ended attempts that did not succeed, each with its worker, times and error; null for errand_monitor';
comment on column errand.job_status.output is
    'what its handler returned, or has reported so far where it has not succeeded; null for errand_monitor';
comment on column errand.job_status.reason is
    'why it was cancelled or is obsolete; the last error of a failed one, null for errand_monitor';
comment on column errand.job_status.not_after is 'not to be started after';
comment on column errand.job_status.limit_key is 'the limit under which it runs';
comment on column errand.job_status.guard is 'the guard that is asked whether it is still wanted';
comment on column errand.job_status.tags is 'words to find it by';
comment on column errand.job_status.traceparent is 'the W3C trace context of its enqueue';
comment on column errand.job_status.parked_for is 'what it is parked for: limit:KEY, dependency:NAME or crash';
comment on column errand.job_status.progress is 'how much is done, 0 to 1, as its handler reported last; null = it has not';
comment on column errand.job_status.progress_message is 'what it was doing then, in words; null for errand_monitor';
comment on column errand.job_status.progress_at is 'when its handler last reported or logged';
comment on column errand.job_status.log is
    'the last lines that its handler logged: at most 50, and 8 KB; null for errand_monitor';
