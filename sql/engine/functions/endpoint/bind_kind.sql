-- bind_kind: gives a kind what its endpoint wants of its jobs: the circuit endpoint.NAME, and the limit endpoint/NAME
-- if that has a max_running. With endpoint null it takes from the kind what an endpoint gave to it.
create or replace function errand_internal.bind_kind(kind text, endpoint text) returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    update errand.kind as bound
    set limit_key = wanted.limit_key, circuits = wanted.circuits
    from (
        select
            case
                when target.max_running is not null then 'endpoint/' || target.name
                when starts_with(existing.limit_key, 'endpoint/') is not true then existing.limit_key
            end as limit_key,
            case
                when target.name is not null then array['endpoint.' || target.name]
                when former.endpoint is not null
                    then nullif(array_remove(existing.circuits, 'endpoint.' || former.endpoint), '{}')
                else existing.circuits
            end as circuits
        from errand.kind as existing
        left join errand.endpoint as target on target.name = bind_kind.endpoint
        left join errand.handler as former on former.kind = existing.name
        where existing.name = bind_kind.kind
    ) as wanted
    where bound.name = bind_kind.kind
        and (bound.limit_key, bound.circuits) is distinct from (wanted.limit_key, wanted.circuits)
$$;
