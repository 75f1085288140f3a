-- job_status: every job that is on record, wherever its row is. By id it costs a few index reads; unfiltered, everything.
create or replace view errand.job_status as
select
    id, queue, kind, state, priority, attempt, max_attempts, crashes, run_at, created_at, started_at,
    null::timestamptz as finished_at, worker_id, unique_key, payload, attempts, null::jsonb as output, null::text as reason
from errand.job
union all
select
    id, queue, kind, 'failed', priority, attempt, max_attempts, crashes, run_at, created_at, started_at, finished_at,
    worker_id, unique_key, payload, attempts, null, error
from errand.failed
union all
select
    id, queue, kind, state, priority, attempt, max_attempts, crashes, run_at, created_at, started_at, finished_at,
    worker_id, unique_key, payload, attempts, output, reason
from errand.history;
comment on view errand.job_status is 'Every job on record: waiting, running, failed and ended ones';
