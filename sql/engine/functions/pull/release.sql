-- release: hands pulled jobs back that the worker has not begun: their attempts are not counted, and they keep their
-- place in the queue. Returns a row for each token: errand.done.
--
--   select result from errand.release('{2a.1.3f}');
-- errand: for worker
-- errand: topic pull
create or replace function errand.release(tokens text[])
returns table (token text, job_id bigint, result text)
-- Not in SQL: that would be planned in each call.
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    return query
    select *
    from errand_internal.complete_pulled(
        'release', tokens, array_fill('released'::text, array[coalesce(cardinality(tokens), 0)]));
end
$$;
