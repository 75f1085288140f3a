-- failures: the last 5,000 failures, grouped by similar errors, newest first.
--
-- Failures of jobs that were retried or discarded since stay for a week. Errors are texts of handlers and may quote the
-- content of jobs: roles with errand_monitor only see the numbers and the ids, not the texts.
--
--   select * from errand.failures where error_id = '5b0c9a12';      -- of a log line
-- errand: for ops, monitor
-- errand: topic find
create or replace view errand.failures as
select
    kind,
    queue,
    case when (select errand_internal.sees_content()) then fingerprint end as fingerprint,
    count(*) as failures,
    count(*) filter (where finished_at between now() - interval '1 hour' and now()) as failures_1_h,
    count(*) filter (where became = 'retried') as retried,
    min(finished_at) as first_at,
    max(finished_at) as last_at,
    (array_agg(id order by finished_at desc))[1] as last_job_id,
    case
        when (select errand_internal.sees_content()) then (array_agg(error order by finished_at desc))[1]
    end as last_error,
    count(*) filter (where became = 'discarded') as discarded,
    errand_internal.error_id(recent.fingerprint, (select error_key from errand.home)) as error_id
from (
    (
        select id, kind, queue, fingerprint, finished_at, error, null as became
        from errand.failed
        order by finished_at desc
        limit 5000)
    union all
    (
        select job_id, kind, queue, fingerprint, finished_at, error, became
        from errand.past_failure
        order by finished_at desc
        limit 5000)
    order by finished_at desc
    limit 5000) as recent
group by kind, queue, recent.fingerprint
order by last_at desc;
comment on view errand.failures is
    'The last 5,000 failures, grouped by kind, queue and similar errors; newest first';
comment on column errand.failures.kind is 'the jobs'' kind';
comment on column errand.failures.queue is 'the jobs'' queue';
comment on column errand.failures.fingerprint is
    'the error without numbers, ids and quotes; null for errand_monitor';
comment on column errand.failures.failures is 'number of failures among the last 5,000';
comment on column errand.failures.failures_1_h is 'number within the last hour';
comment on column errand.failures.retried is 'number of failures of jobs that were retried since';
comment on column errand.failures.first_at is 'the first of them';
comment on column errand.failures.last_at is 'the last of them';
comment on column errand.failures.last_job_id is 'the job of the last one, for errand.explain and errand.retry';
comment on column errand.failures.last_error is 'its error in full; null for errand_monitor';
comment on column errand.failures.discarded is 'number of failures of jobs that were discarded since';
comment on column errand.failures.error_id is
    'the id of these errors in logs: a keyed hash of the fingerprint';
