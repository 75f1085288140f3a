-- ten_million: ten million ended jobs of a week, a million waiting ones and a hundred thousand failed ones.
set synchronous_commit = off;
create or replace procedure pg_temp.make_days() language plpgsql as $$
declare
    day date;
begin
    for day in select (now() at time zone 'UTC')::date - ago from generate_series(1, 7) as ago loop
        if to_regclass('errand.history_' || to_char(day, 'YYYYMMDD')) is null then
            execute format(
                'create table errand.%I partition of errand.history for values from (%L) to (%L)',
                'history_' || to_char(day, 'YYYYMMDD'), day::timestamp at time zone 'UTC',
                (day + 1)::timestamp at time zone 'UTC');
        end if;
    end loop;
end
$$;
call pg_temp.make_days();
insert into errand.history (
    id, worker_id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, state, queue,
    kind, payload, tags)
select
    number, 1, ended - interval '2 s', ended - interval '2 s', ended - interval '1 s', ended, 2, 1, 10, 0,
    case when number % 1000 = 0 then 'cancelled' else 'succeeded' end, 'queue' || number % 12, 'kind' || number % 40,
    jsonb_build_object('order', number), case when number % 50 = 0 then array['import'] end
from generate_series(1, 10000000) as number
cross join lateral (
    select now() - interval '6 days 20 hours' + number * interval '59 ms' as ended
) as moment;
insert into errand.failed (
    id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind, payload,
    attempts, error)
select
    10000000 + number, now() - interval '1 h', now() - interval '1 h', now() - interval '1 h',
    now() - interval '1 h' + number * interval '30 ms', 2, 3, 3, 0, 'queue' || number % 12, 'kind' || number % 40,
    jsonb_build_object('order', number), jsonb_build_array(jsonb_build_object('attempt', 3, 'error', 'no ' || number)),
    'photo ' || number || ': ' || (array['no bucket', 'not a JPEG', 'time-out'])[1 + number % 3]
from generate_series(1, 100000) as number;
insert into errand.job (id, queue, kind, payload, queue_position, created_at, run_at)
select
    10200000 + number, 'queue' || number % 12, 'kind' || number % 40, jsonb_build_object('order', number),
    nextval('errand.job_position'), now() - interval '10 min', now() - interval '10 min'
from generate_series(1, 1000000) as number;
select setval(pg_get_serial_sequence('errand.job', 'id'), 12000000);
-- A hundred thousand batches that have ended, and 30 with 20,000 waiting jobs each.
insert into errand.batch (id, owner, name, closed_at, ended_at, outcome, total)
select number, 'shop', 'batch ' || number, now(), now(), 'succeeded', 100 from generate_series(1, 100000) as number
union all
select 10100000 + number, 'shop', 'large ' || number, null, null, null, null from generate_series(1, 30) as number;
insert into errand.batch_jobs (batch_id, last_id, first_id)
select 10100000 + number, 10200000 + 20000 * number, 10200001 + 20000 * (number - 1)
from generate_series(1, 30) as number;
insert into errand.finished_per_minute (minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms)
select
    date_trunc('minute', now()) - ago * interval '1 minute', worker, 'queue' || kind % 12, 'kind' || kind, outcome, 300,
    9, 9
from generate_series(0, 59) as ago
cross join generate_series(0, 39) as kind
cross join generate_series(0, 3) as worker
cross join unnest('{succeeded,failed}'::text[]) as outcome
on conflict do nothing;
insert into errand.action (done_at, jobs, who, action, target, reason, job_ids)
select now() - number * interval '1 min', 1, 'alice', 'retry', '{"ids": [1]}', 'why', array[number]
from generate_series(1, 20000) as number;
analyze;
select errand_internal.update_statistics();
