-- compare_kinds: how slow each kind is now against earlier, the slowest first. By default that is the last hour against
-- the same hour of yesterday.
--
--   select * from errand.compare_kinds();
--   select * from errand.compare_kinds(span => interval '10 minutes', back => interval '1 hour');
--
-- change_percent is that of the p95. The counts by minute stay for a week, so back is less than that.
-- errand: after kind_times
-- errand: for ops, monitor
-- errand: topic rates
create or replace function errand.compare_kinds(
    span interval default interval '1 hour', back interval default interval '1 day'
) returns table (
    kind text, succeeded bigint, succeeded_before bigint, run_p95_ms double precision,
    run_p95_ms_before double precision, change_percent numeric
)
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select
        kind, coalesce(fresh.succeeded, 0), coalesce(old.succeeded, 0), fresh.run_p95_ms, old.run_p95_ms,
        round((100 * (fresh.run_p95_ms / nullif(old.run_p95_ms, 0) - 1))::numeric, 1)
    from errand.kind_times(now() - compare_kinds.span, now()) as fresh
    full join errand.kind_times(
        now() - compare_kinds.back - compare_kinds.span, now() - compare_kinds.back) as old using (kind)
    order by fresh.run_p95_ms desc nulls last, kind
$$;
