-- batches: batches of jobs, unfinished and ended ones.
--
--   select id, name, total, waiting from errand.batches where state <> 'ended' order by id desc limit 20;
--
-- errand: for ops, monitor
-- errand: topic batches
create or replace view errand.batches as
select
    batch.id,
    batch.name,
    errand_internal.batch_state(batch) as state,
    batch.outcome,
    counts.total,
    counts.waiting,
    counts.failed,
    counts.cancelled,
    counts.obsolete,
    batch.owner,
    batch.opened_at,
    batch.closed_at,
    batch.ended_at,
    batch.success_job_id,
    batch.finish_job_id,
    batch.failure_job_id,
    case when (select errand_internal.sees_content()) then batch.properties end as properties,
    counts.ended::double precision / nullif(counts.total, 0) as progress,
    batch.on_success ->> 'kind' as success_kind,
    batch.on_finish ->> 'kind' as finish_kind,
    batch.on_failure ->> 'kind' as failure_kind
from errand.batch as batch
cross join lateral errand_internal.batch_counts(batch.id, 1000) as counts;
comment on view errand.batches is
    'Batches of jobs. Example: select id, name, total, waiting from errand.batches order by id desc limit 20;';
comment on column errand.batches.id is 'the batch''s id';
comment on column errand.batches.name is 'what it is called';
comment on column errand.batches.state is 'open, closed or ended';
comment on column errand.batches.outcome is
    'succeeded, or failed if a job had failed, was cancelled or obsolete at the end; null = it has not ended';
comment on column errand.batches.total is 'all of its jobs so far';
comment on column errand.batches.waiting is
    'jobs that have not ended, counted up to 1,000; errand.batch_status counts all';
comment on column errand.batches.failed is
    'jobs that failed and were not retried; they, cancelled and obsolete ones are counted up to 1,000 together';
comment on column errand.batches.cancelled is 'cancelled and discarded jobs';
comment on column errand.batches.obsolete is 'obsolete jobs';
comment on column errand.batches.owner is 'the login that opened it';
comment on column errand.batches.opened_at is 'when it was opened';
comment on column errand.batches.closed_at is 'when it was closed; null = it is open';
comment on column errand.batches.ended_at is 'when it ended; null = it has not';
comment on column errand.batches.success_job_id is 'the job of on_success; null = not enqueued';
comment on column errand.batches.finish_job_id is 'the job of on_finish; null = not enqueued';
comment on column errand.batches.failure_job_id is 'the job of on_failure; null = not enqueued';
comment on column errand.batches.properties is
    'what the application keeps with it; null for errand_monitor';
comment on column errand.batches.progress is
    'the part of its jobs that has ended, 0 to 1; at least that, if 1,000 or more wait; null = it has no jobs';
comment on column errand.batches.success_kind is 'the kind of on_success; null = it has none';
comment on column errand.batches.finish_kind is 'the kind of on_finish; null = it has none';
comment on column errand.batches.failure_kind is 'the kind of on_failure; null = it has none';
