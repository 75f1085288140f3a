-- state_of: returns a job's state, in whichever table it is; null for an unknown job.
--
-- It is stable, so its statements have one snapshot: a job that moves is seen in one of the tables.
-- errand: for ops, monitor
create or replace function errand_internal.state_of(job_id bigint) returns text
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    found_state text;
begin
    select state into found_state from errand.job where id = state_of.job_id;
    if not found then
        -- These plans have all partitions.
        select state into found_state
        from (
            select 'failed' as state from errand.failed where id = state_of.job_id
            union all
            (select state from errand.history where id = state_of.job_id order by finished_at desc)
        ) as ended
        limit 1;
    end if;
    return found_state;
end
$$;
