-- Fills an empty database of Errand's with the rows of a busy year: :history ended jobs over the last 7 days, :waiting
-- jobs in 8 queues, 4 priorities and 24 kinds (one in ten for later), :failed failures with 40 sorts of errors,
-- 16 workers, and a week's counts by minute.
\set ON_ERROR_STOP on
set synchronous_commit = off;
set client_min_messages = warning;
set timezone = 'UTC';

do $$
declare
    day date;
begin
    for day in select now()::date - back from generate_series(1, 7) as back loop
        execute format(
            'create table if not exists errand.history_%s partition of errand.history for values from (%L) to (%L)',
            to_char(day, 'YYYYMMDD'), day, day + 1);
    end loop;
end
$$;

insert into errand.kind (name, queue, max_attempts, priority)
select 'kind_' || n, 'queue_' || n % 8, 10, 1 + n % 4
from generate_series(0, 23) as n;

select errand_internal.register_worker_v1(
    'host-' || n || ':1', '1.0', '1 hour', array(select 'queue_' || q from generate_series(0, 7) as q),
    (
        select jsonb_agg(jsonb_build_object('name', name, 'queue', queue, 'max_attempts', 10, 'priority', priority))
        from errand.kind))
from generate_series(1, 16) as n
\g /dev/null
-- Nothing extends the leases here.
update errand.worker set lease = '10 days';

insert into errand.history (
    id, worker_id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, state, queue,
    kind, payload, unique_key, tags)
select
    n, 1 + n % 16, at - interval '2 s', at - interval '2 s', at - interval '1 s', at, 1 + n % 4, 1, 10, 0,
    case when n % 1000 = 0 then 'cancelled' else 'succeeded' end, 'queue_' || n % 8, 'kind_' || n % 24,
    '{"photo": "6c1d3c1e-0000-4000-8000-000000000000"}',
    case when n % 10 = 0 then 'photo/' || n end, case when n % 20 = 0 then array['customer/' || n / 20 % 50000] end
from generate_series(1, :history) as n
cross join lateral (select now() - interval '7 days' * (1 - n::float8 / :history) as at) as ended;

insert into errand.job (
    id, queue, kind, priority, created_at, run_at, state, queue_position, attempt, worker_id, started_at, payload,
    unique_key, tags)
select
    :history + n, 'queue_' || n % 8, 'kind_' || n % 24, 1 + (n / 8) % 4, now() - interval '1 hour',
    case when n % 10 = 9 then now() + n * interval '1 second' else now() - interval '1 hour' end,
    case when n % 10 = 9 then 'scheduled' when n <= 640 then 'running' else 'available' end,
    case when n % 10 = 9 then null else nextval('errand.job_position') end,
    case when n <= 640 and n % 10 <> 9 then 1 else 0 end,
    case when n <= 640 and n % 10 <> 9 then 1 + n % 16 end,
    case when n <= 640 and n % 10 <> 9 then now() - interval '1 minute' end,
    '{"photo": "6c1d3c1e-0000-4000-8000-000000000000"}',
    case when n % 10 = 0 then 'photo/' || :history + n end,
    case when n % 20 = 0 then array['customer/' || n / 20 % 50000] end
from generate_series(1, :waiting) as n;
insert into errand.claim (worker_id, generation, job_ids)
select worker_id, 1, array_agg(id)
from errand.job
where id <= :history + 640 and state = 'running'
group by worker_id;
select setval('errand.job_id_seq', :history + :waiting + :failed) \g /dev/null

insert into errand.failed (
    id, worker_id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind,
    payload, attempts, error)
select
    :history + :waiting + n, 1 + n % 16, at, at, at, at, 2, 10, 10, 0, 'queue_' || n % 8, 'kind_' || n % 24,
    '{"photo": "6c1d3c1e-0000-4000-8000-000000000000"}', '[]',
    format('error of sort %s: bucket "photos-%s" answered %s after %s ms', chr(65 + n % 40), n, 400 + n % 20, n % 5000)
from generate_series(1, :failed) as n
cross join lateral (select now() - interval '30 days' * (1 - n::float8 / :failed) as at) as ended;

insert into errand.action (done_at, jobs, who, action, target, reason, job_ids)
select
    now() - interval '1 year' * (1 - n::float8 / 100000), 1, 'alice',
    case when n % 1000 = 0 then 'pause_queue' else 'retry' end,
    case when n % 1000 = 0 then jsonb_build_object('queue', 'queue_' || n / 1000 % 8) else '{}' end, 'a reason',
    case when n % 1000 <> 0 then array[:history + n] end
from generate_series(1, 100000) as n;
insert into errand.tick (tick, enqueued_at, job_id, schedule, outcome)
select minute, minute, n, 'schedule_' || n, 'enqueued'
from generate_series(date_trunc('minute', now()) - interval '7 days', now(), interval '1 minute') as minute
cross join generate_series(1, 10) as n;

insert into errand.finished_per_minute (
    minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms, wait_histogram, run_histogram)
select
    minute, worker, 'queue_' || kind % 8, 'kind_' || kind, outcome, 100, 2000, 20000,
    '{10,20,30,20,10,5,3,1,1}', '{0,0,0,10,20,30,20,10,5,3,1,1}'
from generate_series(date_trunc('minute', now()) - interval '7 days', now(), interval '1 minute') as minute
-- The last two minutes are not merged yet: each worker has rows of its own.
cross join generate_series(0, 16) as worker
cross join generate_series(0, 23) as kind
cross join unnest('{succeeded,retried}'::text[]) as outcome
where (worker = 0) = (minute < date_trunc('minute', now()) - interval '1 minute');

insert into errand.finished_total (
    queue, kind, outcome, jobs, wait_ms, run_ms, last_minute, wait_histogram, run_histogram)
select
    queue, kind, outcome, sum(jobs), sum(wait_ms), sum(run_ms), max(minute),
    errand_internal.sum_histograms(wait_histogram),
    errand_internal.sum_histograms(run_histogram)
from errand.finished_per_minute
where worker_id = 0
group by queue, kind, outcome;

insert into errand.limit (limit_key, max_running) values ('tenant/*', 5);
insert into errand.circuit (name) values ('apns'), ('storage');
vacuum (analyze) errand.history;
vacuum (analyze) errand.job;
vacuum (analyze) errand.failed;
vacuum (analyze) errand.finished_per_minute;
vacuum (analyze) errand.action;
vacuum (analyze) errand.tick;
