-- job_condition: returns the condition of a filter as SQL, for rows that a query calls job. It names only the keys that
-- are given, so that the planner can use an index of each.
--
-- error, fingerprint and ended_at are expressions of the query: the job's last error, what errand_internal.fingerprint
-- returns for it, and the time of the job's end.
create or replace function errand_internal.job_condition(
    choice errand.job_choice, error text, fingerprint text, ended_at text
) returns text
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(string_agg(condition, ' and '), 'true')
    from (
        values
            ('job.queue = ' || quote_literal(choice.queue)),
            ('job.kind = ' || quote_literal(choice.kind)),
            ('job.state = ' || quote_literal(choice.state)),
            ('job.tags @> array[' || quote_literal(choice.tag) || ']'),
            ('job.unique_key = ' || quote_literal(choice.unique_key)),
            ('job.limit_key = ' || quote_literal(choice.limit_key)),
            ('strpos(' || error || ', ' || quote_literal(choice.error) || ') > 0'),
            (fingerprint || ' = ' || quote_literal(choice.fingerprint)),
            ('job.created_at >= ' || quote_literal(choice.created_after)),
            ('job.created_at < ' || quote_literal(choice.created_before)),
            (ended_at || ' >= ' || quote_literal(choice.ended_after)),
            (ended_at || ' < ' || quote_literal(choice.ended_before)),
            ('job.options ->> ''batch'' = ' || quote_literal(choice.batch)),
            -- Its jobs are found by their ids.
            ((
                select format('job.id between %s and %s', min(first_id), max(last_id))
                from errand.batch_jobs
                where batch_id = choice.batch
                having count(*) > 0))
    ) as given(condition)
$$;
