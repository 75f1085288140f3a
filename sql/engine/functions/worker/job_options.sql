-- job_options: returns what the worker reads of a job's options: those that it alone reads, with not_after
-- (microseconds since 2000), guard, limit_key and tags, and with the signal that it has waited for, whose payload is
-- JSON as text.
-- errand: after signal_of
create or replace function errand_internal.job_options(job errand.job) returns jsonb
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(job.options, '{}') || jsonb_strip_nulls(jsonb_build_object(
        'not_after', case
            when isfinite(job.not_after) then (extract(epoch from job.not_after - '2000-01-01Z') * 1000000)::bigint
        end,
        'guard', job.guard, 'limit_key', job.limit_key, 'tags', job.tags,
        'signal', case
            when job.options ? 'signal' then jsonb_build_object(
                'name', job.options #> '{signal,name}',
                'payload', (errand_internal.signal_of(job.options) -> 'payload')::text)
        end))
$$;
