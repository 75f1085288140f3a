-- outcome_again: what was done so far is committed, and the function is called again at once with this state. That
-- spends no attempt. An attempt that fails later goes on from the last state.
--
--   return errand.outcome_again(jsonb_build_object('after', last_id));
-- errand: for enqueuer
-- errand: topic handlers
create or replace function errand.outcome_again(state jsonb) returns errand.outcome
language sql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select row('again', null, null, null, outcome_again.state)::errand.outcome
$$;
