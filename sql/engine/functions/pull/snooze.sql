-- snooze: puts pulled jobs off: each runs again after its delay, from its beginning. The attempt is not counted.
-- Returns a row for each token: errand.done.
--
--   select result from errand.snooze('{2a.1.3f}', array[interval '10 minutes']);
-- errand: for worker
-- errand: topic pull
create or replace function errand.snooze(tokens text[], delays interval[])
returns table (token text, job_id bigint, result text)
-- Not in SQL: that would be planned in each call.
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    return query
    select *
    from errand_internal.complete_pulled(
        'snooze', tokens, array_fill('snoozed'::text, array[coalesce(cardinality(tokens), 0)]),
        delays => snooze.delays);
end
$$;
