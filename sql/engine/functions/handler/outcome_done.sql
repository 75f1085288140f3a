-- outcome_done: the job succeeded. The output, if any, is stored with it: at most 256 KB as text.
--
--   return errand.outcome_done(jsonb_build_object('expired', expired));
-- errand: for enqueuer
-- errand: topic handlers
create or replace function errand.outcome_done(output jsonb default null) returns errand.outcome
language sql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select row('succeeded', outcome_done.output, null, null, null)::errand.outcome
$$;
