-- done: tells that pulled jobs have succeeded. outputs, if given, has an element for each: JSON of at most 256 KB as
-- text, or null. Returns a row for each token, in their order.
--
--   select result from errand.done('{2a.1.3f}', array['{"sent": 1}'::jsonb]);
--
-- completed: it is done, or has failed because its output is too large. stale: the job is not the worker's any more,
-- the token is there a second time, or the text is no token; nothing has changed. again: another session has locked the
-- job; call again a moment later. obsolete: its guard said no now, so the job has ended as obsolete.
--
-- In the transaction that has a job's effect, the effect and the completion commit together. Roll back unless the
-- result is completed.
-- errand: for worker
-- errand: topic pull
create or replace function errand.done(tokens text[], outputs jsonb[] default null)
returns table (token text, job_id bigint, result text)
-- Not in SQL: that would be planned in each call.
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    return query
    select *
    from errand_internal.complete_pulled(
        'done', tokens, array_fill('succeeded'::text, array[coalesce(cardinality(tokens), 0)]),
        outputs => done.outputs);
end
$$;
