-- batch_status: returns how far a batch is. All of its unfinished jobs are counted: a second for a million.
--
--   select state, progress from errand.batch_status(4711);
--
-- state is open, closed or ended. total has all jobs so far, waiting those that have not ended. progress is the part
-- that has ended, 0 to 1, null without jobs. A discarded job counts as cancelled. outcome is succeeded or failed, as it
-- was at the end: a retry after it changes the numbers alone. Raises ER404 if there is no such batch, or none that the
-- login may use.
-- errand: for enqueuer, worker, ops
-- errand: topic batches
create or replace function errand.batch_status(batch_id bigint) returns table (
    name text, state text, total bigint, waiting bigint, succeeded bigint, failed bigint, cancelled bigint,
    obsolete bigint, progress double precision, outcome text, opened_at timestamptz, closed_at timestamptz,
    ended_at timestamptz, success_job_id bigint, finish_job_id bigint, failure_job_id bigint, properties jsonb
)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.batch;
begin
    select * into existing from errand_internal.find_batch('batch_status: batch_id', batch_status.batch_id);
    return query
    select
        existing.name, errand_internal.batch_state(existing), counts.total, counts.waiting,
        counts.total - counts.waiting - counts.failed - counts.cancelled - counts.obsolete, counts.failed,
        counts.cancelled, counts.obsolete, (counts.total - counts.waiting)::double precision / nullif(counts.total, 0),
        existing.outcome, existing.opened_at, existing.closed_at, existing.ended_at, existing.success_job_id,
        existing.finish_job_id, existing.failure_job_id, existing.properties
    from errand_internal.batch_counts(existing.id, 9223372036854775807) as counts;
end
$$;
