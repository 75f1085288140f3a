-- outcome_snooze: the job runs again after this time, from its beginning. The attempt is not counted: it was too early.
--
--   return errand.outcome_snooze(event.reveal_at - now());
-- errand: for enqueuer
-- errand: topic handlers
create or replace function errand.outcome_snooze(delay interval) returns errand.outcome
language sql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select row('snoozed', null, outcome_snooze.delay, null, null)::errand.outcome
$$;
