-- endpoint_problem: returns why jobs are not posted to an endpoint: null if they are.
-- errand: for ops, monitor
create or replace function errand_internal.endpoint_problem(name text) returns text
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select case
        when not exists (
            select
            from errand.worker
            where 'endpoint.' || endpoint_problem.name = any (worker.kinds) and heartbeat_at + lease > now())
            then 'no live worker calls endpoints: start `errand worker` with ERRAND_ENDPOINT_SECRETS'
        when down.until is null and down.name is not null
            then 'its circuit is open until an operator closes it: errand.circuit_close'
        when down.name is not null then 'its circuit is open'
    end
    from (select) as one
    left join errand.circuit as down
        on down.name = 'endpoint.' || endpoint_problem.name and down.opened_at is not null
$$;
