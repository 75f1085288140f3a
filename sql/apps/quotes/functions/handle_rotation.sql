-- handle_rotation: the handler of the kind quote_rotation. Records the quote of each day, from yesterday to 8 days
-- ahead.
--
-- quotes.cycle_order determines the quote of each day, so a late run writes the same. The output is {written}: the days
-- whose quote was written, 0 if all existed.
-- errand: after rotate_v1
create or replace function quotes.handle_rotation(payload jsonb, state jsonb) returns errand.outcome
language sql security definer set search_path = pg_catalog, quotes, pg_temp as $$
    select errand.outcome_done(jsonb_build_object('written', quotes.rotate_v1()))
$$;
