-- Fills an empty database of Errand's with :waiting due jobs in 8 queues, 4 priorities and 24 kinds. Neighbours on the
-- disk belong to different queues, as if applications had enqueued them.
\set ON_ERROR_STOP on
set synchronous_commit = off;

insert into errand.kind (name, queue, max_attempts, priority)
select 'kind_' || n, 'queue_' || n % 8, 10, 1 + n % 4
from generate_series(0, 23) as n;

insert into errand.job (id, queue, kind, priority, queue_position, payload)
select
    n, 'queue_' || n % 8, 'kind_' || n % 24, 1 + (n / 8) % 4, n,
    '{"photo": "6c1d3c1e-0000-4000-8000-000000000000", "from": "the album of a summer", "attempts": 3}'
from generate_series(1, :waiting) as n;
select setval('errand.job_id_seq', :waiting), setval('errand.job_position', :waiting) \g /dev/null
vacuum (analyze) errand.job;
