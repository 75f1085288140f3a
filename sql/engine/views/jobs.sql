-- jobs: all jobs, in whichever table they are. By id it costs a few index reads; without a filter, a read of
-- everything.
--
-- Columns that say what a job is about (payload, attempts, output, last error, subject, progress message, log) are null
-- for roles with errand_monitor only: errand_internal.sees_content.
-- errand: for ops, monitor
-- errand: topic find
create or replace view errand.jobs as
select
    id, queue, kind, state, priority, attempt, max_attempts, crashes, run_at, created_at, started_at, finished_at,
    worker_id, unique_key,
    case when (select errand_internal.sees_content()) then coalesce(
        payload,
        (
            select stored.payload
            from errand.payload as stored
            where stored.day = either.payload_day and stored.job_id = either.id))
    end as payload,
    case when (select errand_internal.sees_content()) then attempts end as attempts,
    case
        when not (select errand_internal.sees_content()) then null
        when has_ended then output
        else (select report.output from errand.progress as report where report.job_id = either.id)
    end as output,
    coalesce(case when (select errand_internal.sees_content()) then error end, reason) as reason,
    not_after, limit_key, rate_key, guard, tags, options,
    case when (select errand_internal.sees_content()) then subject end as subject, parked_for,
    case when parked_for is not null then errand_internal.waiting_for(parked_for) end as waiting_for,
    (select fraction from errand.progress where job_id = either.id) as progress,
    case when (select errand_internal.sees_content())
        then (select message from errand.progress where job_id = either.id) end as progress_message,
    (select updated_at from errand.progress where job_id = either.id) as progress_at,
    case when (select errand_internal.sees_content())
        then (select log from errand.progress where job_id = either.id) end as log,
    waiting_key
from (
    select
        id, :request_columns, :attempt_columns, attempts, payload, payload_day, state, null::timestamptz as finished_at,
        false as has_ended, null::jsonb as output, null::text as reason, null::text as error, parked_for
    from errand.job
    union all
    select
        id, :request_columns, :attempt_columns, attempts, payload, null::date, 'failed', finished_at, false,
        null::jsonb, null::text, error, null::text
    from errand.failed
    union all
    select
        id, :request_columns, :attempt_columns, attempts, payload, payload_day, state, finished_at, true, output,
        reason, null::text, null::text
    from errand.history) as either;
comment on view errand.jobs is 'All jobs: waiting, running, failed and ended ones';
comment on column errand.jobs.id is 'the job''s id';
comment on column errand.jobs.queue is 'its queue';
comment on column errand.jobs.kind is 'its kind, which names the handler';
comment on column errand.jobs.state is
    'scheduled, available, parked, running, succeeded, failed, cancelled or obsolete';
comment on column errand.jobs.priority is '1 (first) to 4 (last)';
comment on column errand.jobs.attempt is 'number of attempts so far, including the running one';
comment on column errand.jobs.max_attempts is 'number of attempts: a failure of the last one is final';
comment on column errand.jobs.crashes is 'number of crashes of a worker in which it was running';
comment on column errand.jobs.run_at is 'the earliest time of its start';
comment on column errand.jobs.created_at is 'when it was enqueued';
comment on column errand.jobs.started_at is 'when its latest attempt was claimed';
comment on column errand.jobs.finished_at is 'when it ended; null = it has not';
comment on column errand.jobs.worker_id is 'the worker of its latest attempt';
comment on column errand.jobs.unique_key is 'one unfinished job at most has it';
comment on column errand.jobs.payload is 'the handler''s argument; null for errand_monitor';
comment on column errand.jobs.attempts is
    'attempts that did not succeed, each with its worker, times and error; null for errand_monitor';
comment on column errand.jobs.output is 'the handler''s result, or its report so far; null for errand_monitor';
comment on column errand.jobs.reason is
    'why it was cancelled or is obsolete; the last error of a failed one, null for errand_monitor';
comment on column errand.jobs.not_after is 'the latest time of its start';
comment on column errand.jobs.limit_key is 'its limit';
comment on column errand.jobs.rate_key is 'its rate';
comment on column errand.jobs.guard is 'its guard';
comment on column errand.jobs.tags is 'words to find it by';
comment on column errand.jobs.options is
    'what only its worker reads, as {"traceparent": "00-…"}; owner is the login that follows it, after has the jobs '
    'that it waits for, or has waited for';
comment on column errand.jobs.subject is 'the user whose job it is; null for errand_monitor';
comment on column errand.jobs.parked_for is 'what it waits for while parked, as limit:KEY, job:ID or crash';
comment on column errand.jobs.waiting_for is 'the same as a sentence, such as: limit tenant/42 is full';
comment on column errand.jobs.progress is
    'how much is done, 0 to 1, as its handler last reported; null = not reported';
comment on column errand.jobs.progress_message is 'what the handler did then, in words; null for errand_monitor';
comment on column errand.jobs.progress_at is 'when its handler last reported or logged';
comment on column errand.jobs.log is 'the last log lines: at most 50, and 8 KB; null for errand_monitor';
comment on column errand.jobs.waiting_key is
    'the unique key that it has only while it waits: unique_key is null while it runs, and if another job has it';
