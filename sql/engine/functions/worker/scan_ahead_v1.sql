-- scan_ahead_v1: the lowest line that waits for a worker within the next step lines behind the mark of each priority,
-- null where there is none. Claims nothing.
--
-- For a worker whose claim took too long, since millions of jobs of kinds that it doesn't know, or of dead entries, lie
-- before the next job that it may claim. Such a claim is rolled back and would take as long each time. This reads a
-- bounded number of lines, 0.7 us each, so that the marks move on from call to call. Holds no lock.
--
-- high is the newest line, latest the newest transaction id given out and snapshot the one from before the scan: what
-- errand.claim_v1 returns too, and means.
create or replace function errand.scan_ahead_v1(
    queue text, kinds text[], marks bigint[], step bigint,
    out lowest bigint[], out high bigint, out latest bigint, out snapshot pg_snapshot
)
-- Volatile, so that the scan has a snapshot of its own, after the one that is returned.
language plpgsql volatile security definer
set search_path = pg_catalog, errand, pg_temp
set lock_timeout = '500ms'
as $$
begin
    high := (select case when is_called then last_value else 0 end from errand.job_position);
    snapshot := pg_current_snapshot();
    latest := errand.latest_transaction(snapshot);
    lowest := errand.lowest_waiting_v1(
        queue, kinds, array(select mark + 1 from unnest(marks) with ordinality as one(mark, level) order by level),
        array(select mark + step from unnest(marks) with ordinality as one(mark, level) order by level));
end
$$;
comment on function errand.scan_ahead_v1(text, text[], bigint[], bigint) is
    'For workers: the lowest waiting line within step lines behind the mark of each priority, null where there is none';
