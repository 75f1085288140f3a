-- release: hands pulled jobs back that the worker has not begun: their attempts are not counted, and they keep their
-- place in the queue. Returns a row for each token: errand.done.
--
--   select result from errand.release('{2a.1.3f}');
-- errand: for worker
-- errand: topic pull
create or replace function errand.release(tokens text[])
returns table (token text, job_id bigint, result text)
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    select *
    from errand_internal.complete_pulled(
        'release', tokens, array(select 'released' from unnest(tokens)))
$$;
