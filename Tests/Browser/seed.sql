-- seed: an hour of a small shop's queue, for the pages and their pictures.
--
-- What workers do while the test runs comes from real workers. This is what they would have left behind before.
select errand.set_limit('tenant/*', 2);
select errand.set_rate('mail', per => '1 minute', allowed => 600);
select errand.circuit_open('warehouse', 'the warehouse moves to another server', now() + interval '2 hours');
select errand.put_schedule('nightly_report', '30 2 * * *', 'noop', time_zone => 'Europe/Berlin');
select errand.put_schedule('stock_levels', 'every 5 min', 'noop');
select errand.put_schedule('monthly_invoices', '0 6 1 * *', 'noop');
select errand.pause_schedule('monthly_invoices', 'the tax rate changes first');
insert into errand.tick (schedule, tick, enqueued_at, outcome)
select 'stock_levels', due, due + interval '200 ms', case index when 4 then 'late' else 'enqueued' end
from generate_series(1, 12) as index
cross join lateral (
    select date_trunc('hour', now()) - index * interval '5 minutes' as due
) as moment
on conflict do nothing;

insert into errand.finished_per_minute (minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms)
select
    date_trunc('minute', now()) - ago * interval '1 minute', 0, queue, kind, outcome,
    greatest(0, round(size * (1 + 0.6 * sin(ago / 7.0 + size) + 0.25 * sin(ago * 1.7))))::bigint, 20, 100
from generate_series(1, 59) as ago
cross join (
    values ('default', 'noop', 'succeeded', 420), ('default', 'noop', 'failed', 4),
        ('images', 'image_compression', 'succeeded', 65), ('mail', 'send_mail', 'succeeded', 180)
) as busy(queue, kind, outcome, size)
on conflict do nothing;

insert into errand.history (
    id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, state, queue, kind,
    payload, output)
select
    nextval(pg_get_serial_sequence('errand.job', 'id')), ended - interval '3 seconds', ended - interval '3 seconds',
    ended - interval '1 second', ended, 2, 1, 10, 0, case when number % 40 = 0 then 'cancelled' else 'succeeded' end,
    (array['default', 'images', 'mail'])[1 + number % 3],
    (array['noop', 'image_compression', 'send_mail'])[1 + number % 3],
    jsonb_build_object('order', 7000 + number), '{"sent": true}'
from generate_series(1, 180) as number
cross join lateral (
    select now() - (200 - number) * interval '17 seconds' as ended
) as moment;

-- Failures that differ in their numbers only are one group.
insert into errand.failed (
    id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind, payload,
    attempts, error, tags)
select
    nextval(pg_get_serial_sequence('errand.job', 'id')), ended - interval '2 minutes', ended - interval '2 minutes',
    ended - interval '2 seconds', ended, 2, 3, 3, 0, queue, kind, payload,
    jsonb_build_array(
        jsonb_build_object(
            'attempt', 1, 'worker', 'shop-1:411', 'outcome', 'failed', 'error', replace(error, '30', '10'),
            'started_at', ended - interval '100 seconds', 'ended_at', ended - interval '95 seconds'),
        jsonb_build_object(
            'attempt', 2, 'worker', 'shop-2:87', 'outcome', 'lost', 'error', 'its worker was lost',
            'started_at', ended - interval '60 seconds', 'ended_at', ended - interval '40 seconds'),
        jsonb_build_object(
            'attempt', 3, 'worker', 'shop-1:411', 'outcome', 'failed', 'error', error,
            'started_at', ended - interval '2 seconds', 'ended_at', ended)),
    error, array['spring-sale']
from (
    select
        now() - number * interval '47 seconds' as ended, 'mail' as queue, 'send_mail' as kind,
        jsonb_build_object(
            'to_customer', 5100 + number, 'template', 'receipt', 'api_key', 'not-for-anybodys-eyes') as payload,
        format('the mail server refused message %s: 421 try again in 30 s', 900 + number) as error
    from generate_series(1, 23) as number
    union all
    select
        now() - number * interval '5 minutes', 'images', 'image_compression',
        jsonb_build_object('photo', number), format('photo %s: expected a JPEG, got 12 bytes of text', number)
    from generate_series(1, 4) as number
) as failure;

select count(*) from (
    select errand.enqueue('sync_stock', jsonb_build_object('article', number), queue => 'warehouse')
    from generate_series(1, 35) as number) as enqueued;
select count(*) from (
    select errand.enqueue('noop', jsonb_build_object('sleep_ms', 1), run_at => now() + number * interval '11 minutes')
    from generate_series(1, 12) as number) as enqueued;

-- A flow, one job of which has failed and blocks its order key. No worker has its queue, and so these jobs stay.
create temporary table flow as
select ordinal, job_id
from errand.enqueue_many(
    '[{"kind": "load_orders", "queue": "reports"}, {"kind": "load_prices", "queue": "reports"},
      {"kind": "load_articles", "queue": "reports"},
      {"kind": "check_orders", "queue": "reports", "after_elements": [1, 2]},
      {"kind": "check_articles", "queue": "reports", "after_elements": [3]},
      {"kind": "month_report", "queue": "reports", "after_elements": [2, 4, 5]},
      {"kind": "send_report", "queue": "reports", "after_elements": [6]},
      {"kind": "archive_report", "queue": "reports", "after_elements": [6]},
      {"kind": "count_articles", "queue": "reports", "order_key": "warehouse/7"},
      {"kind": "count_articles", "queue": "reports", "order_key": "warehouse/7"},
      {"kind": "refund", "queue": "reports"}]');
with gone as (
    delete from errand.job using flow where id = job_id and ordinal in (1, 2, 3) returning job.*
)
insert into errand.history (
    id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, state, queue, kind,
    payload)
select
    id, created_at - interval '13 min', run_at - interval '13 min', now() - interval '12 min',
    now() - interval '11 min', priority, 1, max_attempts, 0, 'succeeded', queue, kind, payload
from gone;
update errand.job set state = 'available', parked_for = null
from flow
where id = job_id and ordinal = 4;
with gone as (
    delete from errand.job using flow where id = job_id and ordinal in (5, 9) returning job.*
)
insert into errand.failed (
    id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind, payload,
    error, options)
select
    id, created_at - interval '13 min', run_at - interval '13 min', now() - interval '10 min',
    now() - interval '9 min', priority, 10, max_attempts, 0, queue, kind, payload,
    'the warehouse does not answer', options
from gone;
insert into errand.order_slot (order_key, job_id, blocked_at)
select 'warehouse/7', job_id, now() - interval '9 min' from flow where ordinal = 9;
insert into errand.step (job_id, recorded_at, name, output)
select job_id, now() - interval '10 min' + nth * interval '5 s', name, output
from flow
cross join (
    values (1, 'open', '{"shelves": 112}'::jsonb), (2, 'count', '{"articles": 4711}')
) as step(nth, name, output)
where ordinal = 5;
select errand.set_key_rate('tenant/*', '1 minute', 30, 5);
update errand.job set attempt = 1 where id = (select job_id from flow where ordinal = 11);
select errand_internal.wait_for_signal(job, '{"for": "approval/7099"}', now() + interval '2 days')
from errand.job
where id = (select job_id from flow where ordinal = 11);

-- Batches: one that goes on, one whose jobs have failed, and one of last month.
select errand.batch_open(
    'prices of november', on_success => '{"kind": "publish_prices", "queue": "reports"}',
    on_failure => '{"kind": "tell_sender", "queue": "reports"}',
    properties => '{"file": "prices-11.csv", "api_key": "not-for-anybodys-eyes"}') as going \gset
select errand.batch_open(
    'letters to customers', on_finish => '{"kind": "count_letters", "queue": "reports"}') as closed \gset
create temporary table member as
select job_id, ordinal, batch_id
from (values (:going, 'import_price', 60), (:closed, 'print_letter', 25)) as asked(batch_id, kind, jobs)
cross join lateral errand.enqueue_many((
    select jsonb_agg(jsonb_build_object('kind', kind, 'payload', line, 'queue', 'reports', 'batch', batch_id))
    from generate_series(1, jobs) as line)) as added;
with gone as (
    delete from errand.job using member
    where id = job_id and ordinal < 40 and ordinal not in (7, 19)
    returning job.*
)
insert into errand.history (
    id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, state, queue, kind,
    payload, options)
select
    id, created_at - interval '5 min', run_at - interval '5 min', now() - interval '4 min', now() - interval '4 min',
    priority, 1, max_attempts, 0, 'succeeded', queue, kind, payload, options
from gone;
with gone as (
    delete from errand.job using member where id = job_id and ordinal in (7, 19) returning job.*, batch_id
),
noted as (
    insert into errand.batch_failure (batch_id, job_id, state) select batch_id, id, 'failed' from gone
)
insert into errand.failed (
    id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind, payload,
    error, options)
select
    id, created_at - interval '5 min', run_at - interval '5 min', now() - interval '4 min', now() - interval '3 min',
    priority, 3, max_attempts, 0, queue, kind, payload, 'line 7: expected a price, got an empty text', options
from gone;
select errand.batch_close(:closed);
insert into errand.batch (id, opened_at, closed_at, ended_at, total, owner, name, outcome)
select
    nextval(pg_get_serial_sequence('errand.job', 'id')), now() - interval '9 days', now() - interval '9 days',
    now() - interval '9 days', 4711, 'shop', 'receipts of october', 'succeeded';
update errand.batch set opened_at = opened_at - interval '6 min' where id in (:going, :closed);
select errand_internal.update_statistics();
