-- parent_states: returns the state of each of these jobs, in whichever table it is; null if it is in none. One
-- statement reads them, so a job that moves from table to table is seen in one of them.
create or replace function errand_internal.parent_states(ids bigint[]) returns table (id bigint, state text)
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    return query
    select
        asked.id,
        -- No join: the planner might read all of a table for it.
        coalesce(
            (select live.state from errand.job as live where live.id = asked.id),
            (select 'failed' from errand.failed as ended where ended.id = asked.id),
            (select ended.state from errand.history as ended where ended.id = asked.id limit 1))
    from unnest(parent_states.ids) as asked(id);
end
$$;
