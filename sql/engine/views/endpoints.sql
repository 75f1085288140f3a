-- endpoints: the servers that handle jobs by HTTP, and what keeps jobs from being posted to one.
--
--   select * from errand.endpoints where problem is not null;
--
-- errand: for ops, monitor
-- errand: topic endpoints
create or replace view errand.endpoints as
select
    target.name,
    errand_internal.endpoint_problem(target.name) as problem,
    case when (select errand_internal.sees_content()) then split_part(target.url, '?', 1) end as url,
    target.secret_name,
    bound.kinds,
    counted.running,
    waiting.jobs as waiting,
    circuit.opened_at as down_since,
    circuit.until as down_until,
    target.timeout,
    target.callback_timeout,
    target.max_running,
    target.allows_private,
    target.set_by,
    target.set_at
from errand.endpoint as target
cross join lateral (
    select coalesce(array_agg(kind order by kind), '{}') as kinds
    from errand.handler
    where endpoint = target.name
) as bound
cross join lateral (
    select coalesce(sum(jobs), 0)::bigint as running
    from errand.job_count
    where kind = any (bound.kinds) and state = 'running'
) as counted
cross join lateral (
    select count(*) as jobs
    from (
        select
        from errand.signal_wait as waits
        join errand.job on job.id = waits.job_id and job.parked_for = 'signal:' || waits.name
        where starts_with(waits.name, 'callback/') and job.kind = any (bound.kinds)
        limit 10000
    ) as accepted
) as waiting
left join errand.circuit on circuit.name = 'endpoint.' || target.name and circuit.opened_at is not null;
comment on view errand.endpoints is
    'The servers that handle jobs by HTTP. Example: select * from errand.endpoints where problem is not null;';
comment on column errand.endpoints.name is 'the endpoint''s name';
comment on column errand.endpoints.problem is 'why jobs are not posted to it; null = they are';
comment on column errand.endpoints.url is
    'where jobs are posted, without the query, which may be secret; null for errand_monitor';
comment on column errand.endpoints.secret_name is 'which secret of the workers signs requests';
comment on column errand.endpoints.kinds is 'the kinds that it handles: errand.put_http_handler';
comment on column errand.endpoints.running is 'its running jobs, by the last statistics of maintenance';
comment on column errand.endpoints.waiting is
    'jobs that it has accepted and not called back for, counted up to 10,000';
comment on column errand.endpoints.down_since is 'when its circuit opened; null = it is closed';
comment on column errand.endpoints.down_until is
    'when a job may probe it; null while the circuit is open = only an operator closes it';
comment on column errand.endpoints.timeout is 'a request that takes longer has failed';
comment on column errand.endpoints.callback_timeout is
    'how long a job that was accepted with 202 waits for its callback';
comment on column errand.endpoints.max_running is 'how many of its requests may run at once, as put_endpoint set it';
comment on column errand.endpoints.allows_private is 'whether its address may be one of a private network';
comment on column errand.endpoints.set_by is 'who set it';
comment on column errand.endpoints.set_at is 'when it was set so';
