-- settle_v1: errand.settle_v2 as workers of the version before call it: they park nothing, and name no moment.
--
-- errand: after settle_v2
create or replace function errand.settle_v1(
    worker_id bigint, ids bigint[], lines bigint[], outcomes text[], errors text[], delays_ms bigint[], outputs jsonb[]
) returns bigint[]
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    select refused || locked from errand.settle_v2(worker_id, ids, lines, outcomes, errors, delays_ms, outputs, null, null)
$$;
comment on function errand.settle_v1(bigint, bigint[], bigint[], text[], text[], bigint[], jsonb[]) is
    'For workers of the version before: errand.settle_v2 without what that can do more';
