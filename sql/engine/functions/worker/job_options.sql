-- job_options: returns the options of a job that its worker needs.
create or replace function errand.job_options(job errand.job) returns jsonb
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select jsonb_strip_nulls(jsonb_build_object(
        'not_after', case
            when isfinite(job.not_after) then (extract(epoch from job.not_after - '2000-01-01Z') * 1000000)::bigint
        end,
        'guard', job.guard,
        'limit_key', job.limit_key, 'tags', job.tags, 'traceparent', job.traceparent))
$$;
