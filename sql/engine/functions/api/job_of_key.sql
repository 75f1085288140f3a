-- job_of_key: returns the job with a unique key: the unfinished one, else the newest ended one. For
-- errand_internal.api_enqueue_v1.
create or replace function errand_internal.job_of_key(
    unique_key text, out id bigint, out kind text, out payload jsonb, out state text, out owner text, out token text
)
-- A plan from when the tables were empty would read all of them forever.
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    select
        either.id, either.kind, coalesce(either.payload, errand_internal.large_payload(either.payload_day, either.id)),
        either.state, either.options ->> 'owner', either.options ->> 'token'
    into id, kind, payload, state, owner, token
    from (
        select id, kind, payload, payload_day, state, options, null::timestamptz as finished_at
        from errand.job
        where job.unique_key = job_of_key.unique_key
        union all
        select id, kind, payload, null, 'failed', options, finished_at
        from errand.failed
        where failed.unique_key = job_of_key.unique_key
        union all
        select id, kind, payload, payload_day, state, options, finished_at
        from errand.history
        where history.unique_key = job_of_key.unique_key) as either
    order by either.finished_at desc nulls first
    limit 1;
end
$$;
