-- limits: the limits that are set or in use, with their running and parked jobs, and the rates of queues.
--
-- A pattern's own row says that it is set. The keys that it bounds have rows of their own while they are in use.
-- errand: for ops, monitor
-- errand: topic limits
create or replace view errand.limits as
select
    'limit' as what,
    used.limit_key as name,
    bound.limit_key as set_as,
    bound.max_running::bigint as allowed,
    null::interval as per,
    used.running,
    used.running >= bound.max_running as is_full,
    waiting.jobs as parked,
    used.job_ids
from (
    select
        slot.limit_key, count(live.id) as running,
        (array_agg(live.id order by live.id) filter (where live.id is not null))[1:20] as job_ids
    from errand.limit_slot as slot
    left join errand.job as live
        on live.id = slot.job_id and live.queue_position = slot.queue_position and live.state = 'running'
            and slot.slot > 0
    group by slot.limit_key
    union
    select limit_key, 0, null
    from errand.limit as fixed
    where not exists (select from errand.limit_slot as slot where slot.limit_key = fixed.limit_key)
) as used
left join lateral (
    select fits.limit_key, fits.max_running
    from errand.limit as fits
    where fits.limit_key = used.limit_key
        or right(fits.limit_key, 1) = '*' and starts_with(used.limit_key, left(fits.limit_key, -1))
    order by fits.limit_key = used.limit_key desc, length(fits.limit_key) desc
    limit 1
) as bound on true
cross join lateral (
    select count(*) as jobs
    from (select from errand.job where parked_for = 'limit:' || used.limit_key limit 10000) as parked
) as waiting
union all
select
    'rate', rate.queue, rate.queue, rate.allowed, rate.per, used.started, used.started >= rate.allowed, null, null
from errand.rate
cross join lateral (
    select coalesce(sum(started.jobs), 0)::bigint as started
    from errand.rate_log as log
    cross join lateral unnest(log.last_at, log.jobs) as started(last_at, jobs)
    where log.queue = rate.queue and started.last_at > now() - rate.per
) as used;
comment on view errand.limits is
    'Limits: running jobs under each key and parked ones (counted up to 10,000). Rates: jobs started within the span';
comment on column errand.limits.what is 'limit, or rate';
comment on column errand.limits.name is 'the limit''s key or pattern, or the rate''s queue';
comment on column errand.limits.set_as is 'the key or pattern that was set';
comment on column errand.limits.allowed is 'jobs that may run at once, or start within per';
comment on column errand.limits.per is 'the span of the rate';
comment on column errand.limits.running is 'jobs that run, or that started within per';
comment on column errand.limits.is_full is 'whether no more may run or start';
comment on column errand.limits.parked is 'parked jobs, counted up to 10,000';
comment on column errand.limits.job_ids is 'the running jobs under the key, the first 20';
