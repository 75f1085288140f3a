-- queue_status: a row a queue. Reads at most 10,000 entries of each, so waiting = 10000 means: that many or more.
create or replace view errand.queue_status as
with recursive used as (
    -- One probe of the index a queue, however many jobs wait.
    (select queue from errand.job where line is not null order by queue limit 1)
    union all
    select (
        select job.queue from errand.job where job.line is not null and job.queue > used.queue order by job.queue limit 1)
    from used
    where used.queue is not null
),
named as (
    select queue from used where queue is not null
    union
    select name from errand.queue
    union
    select queue from errand.kind
)
select
    named.queue,
    line.waiting,
    line.running,
    line.oldest_due_at,
    coalesce(recent.succeeded, 0) as succeeded_5_min,
    coalesce(recent.failed, 0) as failed_5_min,
    coalesce(recent.retried, 0) as retried_5_min,
    held.paused_at,
    held.paused_reason
from named
left join errand.queue as held on held.name = named.queue
cross join lateral (
    select
        count(*) filter (where state = 'available') as waiting,
        count(*) filter (where state = 'running') as running,
        min(run_at) filter (where state = 'available') as oldest_due_at
    from (
        select job.state, job.run_at
        from errand.job
        where job.queue = named.queue and job.line is not null
        limit 10000) as near
) as line
left join lateral (
    select
        sum(jobs) filter (where outcome = 'succeeded') as succeeded,
        sum(jobs) filter (where outcome = 'failed') as failed,
        sum(jobs) filter (where outcome = 'retried') as retried
    from errand.finished_per_minute as finished
    where finished.queue = named.queue and finished.minute > now() - interval '5 minutes'
) as recent on true;
comment on view errand.queue_status is
    'A row a queue: waiting and running (counted up to 10,000), oldest due, ended in the last 5 minutes, paused';
