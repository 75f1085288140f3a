-- scan_ahead_v1: returns the lowest position that waits for a worker within the next `step` positions behind the mark
-- of each priority, null = none. Claims nothing and holds no lock.
--
-- For a worker whose claim took too long because millions of dead entries, or of jobs of other kinds, lie before its
-- next job. Such a claim is rolled back and would take as long each time. This scan reads a bounded number of
-- positions, at 0.7 us each, so the marks advance from call to call.
--
-- high is the newest position, latest the newest transaction id, and snapshot the one from before the scan, as in
-- errand_internal.claim_v1. The call then takes a transaction id of its own. So the snapshot of the next call lists all
-- transactions that run now, and a worker can skip those that run for long.
create or replace function errand_internal.scan_ahead_v1(
    queue text, kinds text[], marks bigint[], step bigint,
    out lowest bigint[], out high bigint, out latest bigint, out snapshot pg_snapshot
)
-- Volatile, so that the scan has a snapshot of its own, after the returned one.
language plpgsql volatile security definer
set search_path = pg_catalog, errand, pg_temp
set lock_timeout = '500ms'
as $$
begin
    high := (select case when is_called then last_value else 0 end from errand.job_position);
    snapshot := pg_current_snapshot();
    latest := errand_internal.latest_transaction(snapshot);
    lowest := errand_internal.lowest_waiting_v1(
        queue, kinds, array(select mark + 1 from unnest(marks) with ordinality as one(mark, level) order by level),
        array(select mark + step from unnest(marks) with ordinality as one(mark, level) order by level));
    perform pg_current_xact_id();
end
$$;
