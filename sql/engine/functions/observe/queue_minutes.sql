-- queue_minutes: returns the completed attempts of the last hour by queue and minute, for a chart.
--
--   select * from errand.queue_minutes('{default}') order by minute;
--
-- A minute without completions has no row. The current minute is incomplete. Costs a read of the last hour's counts,
-- which depend on the number of queues, kinds and workers, and not of jobs.
-- errand: for ops, monitor
-- errand: topic health
create or replace function errand.queue_minutes(queues text[])
returns table (queue text, minute timestamptz, succeeded bigint, failed bigint, retried bigint)
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select
        finished.queue, finished.minute,
        coalesce(sum(finished.jobs) filter (where finished.outcome = 'succeeded'), 0)::bigint,
        coalesce(sum(finished.jobs) filter (where finished.outcome = 'failed'), 0)::bigint,
        coalesce(sum(finished.jobs) filter (where finished.outcome = 'retried'), 0)::bigint
    from errand.finished_per_minute as finished
    where finished.minute between now() - interval '1 hour' and now() and finished.queue = any (queue_minutes.queues)
        and finished.outcome in ('succeeded', 'failed', 'retried')
    group by finished.queue, finished.minute
$$;
