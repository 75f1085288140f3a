-- empty_claim: returns the one row of errand_internal.claim_v1 without a job.
create or replace function errand_internal.empty_claim(
    newest_position bigint, newest_transaction bigint, seen pg_snapshot, most int, left_over text, room_in bigint
) returns table (
    id bigint, queue_position bigint, kind text, attempt smallint, max_attempts smallint, priority smallint,
    created_at timestamptz, run_at timestamptz, started_at timestamptz, payload jsonb, options jsonb, crashes smallint,
    high bigint, latest bigint, snapshot pg_snapshot, asked int, rest text, room_in_us bigint
)
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select null::bigint, null::bigint, null::text, null::smallint, null::smallint, null::smallint, null::timestamptz,
        null::timestamptz, null::timestamptz, null::jsonb, null::jsonb, null::smallint, newest_position,
        newest_transaction, seen, most, left_over, room_in
$$;
