-- flow_jobs: returns these jobs in whichever table they are, each with the jobs that it waits for, or has waited for. A
-- job that is no longer on record is left out.
create or replace function errand_internal.flow_jobs(ids bigint[])
returns table (id bigint, queue text, kind text, state text, after bigint[])
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    return query
    select
        existing.id, existing.queue, existing.kind, existing.state,
        array(select parent::bigint from jsonb_array_elements_text(existing.options -> 'after') as parent)
    from unnest(flow_jobs.ids) as asked(id)
    -- No join: the planner might read all of a table for it.
    cross join lateral (
        select id, queue, kind, state, options from errand.job where job.id = asked.id
        union all
        select id, queue, kind, 'failed', options from errand.failed where failed.id = asked.id
        union all
        select id, queue, kind, state, options from errand.history where history.id = asked.id
        limit 1) as existing;
end
$$;
