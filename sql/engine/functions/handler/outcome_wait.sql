-- outcome_wait: the job waits for a signal (errand.signal), and runs again from its beginning once that has come, at
-- the latest after `timeout`. The attempt is not counted. What has come is in the payload then, as "signal": {"name",
-- "payload"}, without a payload if the time is over.
--
--   if payload -> 'signal' is null then
--       return errand.outcome_wait('approval/17', interval '2 days');
--   end if;
--
-- The payload has to be an object. What was enqueued as its "signal" doesn't reach the function.
--
-- by is the role whose members may send it, by default the login that the job belongs to; errand_ops may always.
-- errand: for enqueuer
-- errand: topic handlers
create or replace function errand.outcome_wait(signal text, timeout interval, by text default null)
returns errand.outcome
language sql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select row(
        'waiting', jsonb_build_object('for', outcome_wait.signal, 'by', outcome_wait.by), outcome_wait.timeout, null,
        null)::errand.outcome
$$;
