-- job: returns a job of the caller's own, one that was enqueued with follow => true: its state, progress, output,
-- error.
--
--   select * from errand.job(4711);
--   select state, output from errand.job(unique_key => 'report/2026-11');
--
-- Own are jobs of the caller's login, and of roles that it is a member of. By unique_key it is the unfinished job with
-- that key, else the newest ended one. Returns no row for a job that isn't known or isn't the caller's own: ended jobs
-- stay for 7 days, failed ones for 30. waiting_for says why a parked job waits; errand.explain_own says more.
-- errand: for enqueuer, ops
-- errand: topic follow
create or replace function errand.job(job_id bigint default null, unique_key text default null) returns table (
    id bigint, kind text, queue text, state text, attempt int, max_attempts int, created_at timestamptz,
    run_at timestamptz, started_at timestamptz, finished_at timestamptz, waiting_for text, progress double precision,
    message text, output jsonb, error text
)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
#variable_conflict use_column
declare
    logins constant text[] := errand_internal.own_logins();
begin
    return query
    select
        own.id, own.kind, own.queue, own.state, own.attempt::int, own.max_attempts::int, own.created_at, own.run_at,
        own.started_at, own.finished_at,
        case when own.parked_for is not null then errand_internal.waiting_for(own.parked_for) end,
        report.fraction::double precision, report.message, coalesce(own.output, report.output), own.error
    from (
        select
            id, :request_columns, :attempt_columns, state, null::timestamptz as finished_at, parked_for,
            null::jsonb as output, attempts -> -1 ->> 'error' as error
        from errand.job as live
        where live.id = job.job_id or live.unique_key = job.unique_key
        union all
        select
            id, :request_columns, :attempt_columns, 'failed', finished_at, null, null, error
        from errand.failed as ended
        where ended.id = job.job_id or ended.unique_key = job.unique_key
        union all
        select
            id, :request_columns, :attempt_columns, state, finished_at, null, output, reason
        from errand.history as ended
        where ended.id = job.job_id or ended.unique_key = job.unique_key) as own
    left join errand.progress as report on report.job_id = own.id
    where own.options ->> 'owner' = any (logins)
    order by own.finished_at desc nulls first
    limit 1;
end
$$;
