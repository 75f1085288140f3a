-- compare_errors: counts failures before and after a moment, such as a deploy, grouped by kind, queue and similar
-- errors. What grew most comes first.
--
--   select * from errand.compare_errors(now() - interval '1 hour');
--
-- Both spans are as long as the time since then, or as span says. Failures of jobs that were retried or discarded since
-- count too, for a week and up to 5,000. Of each table and span, the newest 10,000 failures are read, so
-- beyond that the counts are too low. Errors are null for errand_monitor.
-- errand: after sees_content
-- errand: for ops, monitor
-- errand: topic find
create or replace function errand.compare_errors(moment timestamptz, span interval default null)
returns table (
    kind text, queue text, fingerprint text, before bigint, after bigint, last_at timestamptz, last_job_id bigint,
    last_error text
)
language sql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
    with bounds as (
        select
            compare_errors.moment - coalesce(compare_errors.span, now() - compare_errors.moment) as since,
            compare_errors.moment + coalesce(compare_errors.span, now() - compare_errors.moment) as until
    ),
    found as (
        select near.*, spans.is_after
        from bounds
        cross join lateral (
            values (false, since, compare_errors.moment), (true, compare_errors.moment, until)
        ) as spans(is_after, since, until)
        cross join lateral (
            (
                select id, kind, queue, fingerprint, finished_at, error
                from errand.failed
                where finished_at >= spans.since and finished_at < spans.until
                order by finished_at desc
                limit 10000)
            union all
            (
                select job_id, kind, queue, fingerprint, finished_at, error
                from errand.past_failure
                where finished_at >= spans.since and finished_at < spans.until
                order by finished_at desc
                limit 10000)
        ) as near
    )
    select
        kind, queue,
        case when (select errand_internal.sees_content()) then fingerprint end,
        count(*) filter (where not is_after), count(*) filter (where is_after),
        max(finished_at),
        (array_agg(id order by finished_at desc))[1],
        case when (select errand_internal.sees_content()) then (array_agg(error order by finished_at desc))[1] end
    from found
    group by kind, queue, found.fingerprint
    order by count(*) filter (where is_after) - count(*) filter (where not is_after) desc, max(finished_at) desc
$$;
