-- outcome_fail: the job has failed, and another attempt would fail too. It goes to errand.failures with this reason.
--
-- For a failure that another attempt may get over, raise an exception.
--
--   return errand.outcome_fail('the address is not one');
-- errand: for enqueuer
-- errand: topic handlers
create or replace function errand.outcome_fail(reason text) returns errand.outcome
language sql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select row('failed', null, null, outcome_fail.reason, null)::errand.outcome
$$;
