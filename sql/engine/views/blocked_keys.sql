-- blocked_keys: the order keys that a failed job blocks, longest blocked first. errand.retry runs that job again, and
-- errand.discard lets the next one of the key go on. The error is null for roles with errand_monitor only.
-- errand: for ops, monitor
-- errand: topic find
create or replace view errand.blocked_keys as
select
    slot.order_key,
    slot.job_id,
    failed.kind,
    failed.queue,
    slot.blocked_at,
    case when (select errand_internal.sees_content()) then failed.error end as error,
    waiting.jobs as waiting
from errand.order_slot as slot
join errand.failed on failed.id = slot.job_id
cross join lateral (
    select count(*) as jobs
    from (
        select
        from errand.order_job as joined
        where joined.order_key = slot.order_key and joined.job_id <> slot.job_id
        limit 10000) as behind
) as waiting
where slot.blocked_at is not null
order by slot.blocked_at;
comment on view errand.blocked_keys is 'The order keys that a failed job blocks';
comment on column errand.blocked_keys.order_key is 'the order key';
comment on column errand.blocked_keys.job_id is
    'the failed job: it runs again by errand.retry, or gives way by errand.discard';
comment on column errand.blocked_keys.kind is 'its kind';
comment on column errand.blocked_keys.queue is 'its queue';
comment on column errand.blocked_keys.blocked_at is 'when it failed';
comment on column errand.blocked_keys.error is 'its error; null for errand_monitor';
comment on column errand.blocked_keys.waiting is 'jobs behind it that are ready to run, counted up to 10,000';
