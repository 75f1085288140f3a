-- outcome_cancel: the job is not wanted any more. It goes to the history with this reason.
--
--   return errand.outcome_cancel('the event is gone');
-- errand: for enqueuer
-- errand: topic handlers
create or replace function errand.outcome_cancel(reason text) returns errand.outcome
language sql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select row('cancelled', null, null, outcome_cancel.reason, null)::errand.outcome
$$;
