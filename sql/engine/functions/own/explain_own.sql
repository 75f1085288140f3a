-- explain_own: returns why a job of the caller's own isn't running, as errand.explain does.
--
--   select * from errand.explain_own(4711);
--
-- A job that isn't known or isn't the caller's own is unknown.
-- errand: for enqueuer, ops
-- errand: topic follow
create or replace function errand.explain_own(job_id bigint)
returns table (rank int, code text, detail text, hint text)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
#variable_conflict use_column
begin
    if errand_internal.own_ids(array[explain_own.job_id]) = '{}' then
        return query
        values (
            1, 'unknown',
            format('there is no job %s of your own (any more)', coalesce(explain_own.job_id::text, 'null')),
            'Enqueue it with follow => true, and ask as the same login.');
        return;
    end if;
    return query select * from errand.explain(explain_own.job_id);
end
$$;
