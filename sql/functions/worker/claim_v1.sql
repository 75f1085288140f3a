-- claim_v1: errand.claim_v2 without the jobs' options, as workers of the version before call it.
--
-- errand: after claim_v2
create or replace function errand.claim_v1(
    queue text, kinds text[], worker_id bigint, max_jobs int, marks bigint[], lanes smallint[], durable boolean
) returns table (
    id bigint, line bigint, kind text, attempt smallint, max_attempts smallint, priority smallint,
    created_at timestamptz, run_at timestamptz, started_at timestamptz, payload jsonb, high bigint, latest bigint,
    snapshot pg_snapshot
)
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    select
        id, line, kind, attempt, max_attempts, priority, created_at, run_at, started_at, payload, high, latest, snapshot
    from errand.claim_v2(queue, kinds, worker_id, max_jobs, marks, lanes, durable)
$$;
comment on function errand.claim_v1(text, text[], bigint, int, bigint[], smallint[], boolean) is
    'For workers of the version before: errand.claim_v2 without options';
