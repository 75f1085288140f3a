-- wait_for: parks pulled jobs until a signal comes (errand.signal), each for its timeout at most. The attempt is not
-- counted. The job is pulled again from its beginning, with what has come in its options, as "signal": {"name",
-- "payload"}, without a payload if the time is over. Returns a row for each token: errand.done.
--
--   select result from errand.wait_for('{2a.1.3f}', '{approval/17}', '{2 days}');
--
-- roles names, for each, the role whose members may send the signal, by default the login that the job belongs to;
-- errand_ops may always.
-- errand: for worker
-- errand: topic pull, signals
create or replace function errand.wait_for(
    tokens text[], signals text[], timeouts interval[], roles text[] default null
) returns table (token text, job_id bigint, result text)
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    select *
    from errand_internal.complete_pulled(
        'wait_for', tokens, array(select 'waiting' from unnest(tokens)),
        delays => timeouts,
        outputs => array(
            select jsonb_build_object('for', signal, 'by', role)
            from unnest(signals, roles) with ordinality as given(signal, role, index)
            order by index))
$$;
