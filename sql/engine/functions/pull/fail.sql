-- fail: tells that attempts of pulled jobs have failed, and why. Each is retried after the delay of its kind
-- (errand.put_kind), or after retry_after if its element isn't null. On its last attempt, or if permanent says so, the
-- job moves to errand.failures. Returns a row for each token: errand.done.
--
--   select result from errand.fail('{2a.1.3f}', '{"no route to host"}', permanent => '{true}');
-- errand: for worker
-- errand: topic pull
create or replace function errand.fail(
    tokens text[], errors text[], retry_after interval[] default null, permanent boolean[] default null
) returns table (token text, job_id bigint, result text)
-- Not in SQL: that would be planned in each call.
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    return query
    select *
    from errand_internal.complete_pulled(
        'fail', tokens,
        case
            when permanent is null then array_fill('retried'::text, array[coalesce(cardinality(tokens), 0)])
            else array(
                select case when is_permanent then 'failed' else 'retried' end
                from unnest(permanent) with ordinality as given(is_permanent, index)
                order by index)
        end,
        errors, retry_after);
end
$$;
