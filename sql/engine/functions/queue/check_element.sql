-- check_element: checks an element of errand.enqueue_many as errand.enqueue checks its arguments, and returns true.
-- context names the element in the error.
--
-- Raises ER422, ER413 and ER404 as errand_internal.check_job, errand_internal.check_time and
-- errand_internal.check_options do.
create or replace function errand_internal.check_element(
    kind text, payload jsonb, queue text, run_at timestamptz, priority int, max_attempts int, unique_key text,
    not_after timestamptz, on_conflict text, limit_key text, guard text, tags text[], subject text, options jsonb,
    rate_key text, context text
) returns boolean
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform errand_internal.check_job(
        kind, coalesce(payload, '{}'), queue, priority, max_attempts, unique_key, context);
    perform errand_internal.check_time(run_at, context);
    perform errand_internal.check_options(
        run_at, not_after, unique_key, coalesce(on_conflict, 'keep'), limit_key, guard, tags, subject, options,
        context, rate_key);
    return true;
end
$$;
