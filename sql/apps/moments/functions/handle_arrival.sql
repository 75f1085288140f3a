-- handle_arrival: the handler of the kind moment_arrival. Makes a stored moment its sender's current one, and removes
-- the ones that it replaces.
--
-- Most moments need no such job: the transaction that records their storing does this. It enqueues the job if another
-- transaction is changing the pair's moments, since it must not wait for that one. The payload is {moment}, the output
-- {state}: what moments.arrive_v1 returns.
-- errand: after arrive_v1
create or replace function moments.handle_arrival(payload jsonb, state jsonb) returns errand.outcome
language sql security definer set search_path = pg_catalog, moments, pg_temp as $$
    select errand.outcome_done(jsonb_build_object('state', moments.arrive_v1((payload ->> 'moment')::uuid)))
$$;
