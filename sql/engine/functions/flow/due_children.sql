-- due_children: returns those of the given jobs that wait for a job that has ended, so that
-- errand_internal.release_children has to decide about them. A parent that is in no table counts as ended only with
-- missing_is_ended.
create or replace function errand_internal.due_children(ids bigint[], missing_is_ended boolean) returns bigint[]
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    return array(
        with child as materialized (
            select near.id, substr(near.parked_for, 5)::bigint as parent, near.options ->> 'if_parent_fails' as policy
            from unnest(due_children.ids) as asked(id)
            -- By its id: a join might read all that is parked.
            cross join lateral (
                select id, parked_for, options from errand.job where job.id = asked.id offset 0
            ) as near
            where starts_with(near.parked_for, 'job:')
        )
        select child.id
        from child
        join errand_internal.parent_states(array(select distinct parent from child)) as parent
            on parent.id = child.parent
        where parent.state = 'succeeded'
            -- It may be retried.
            or parent.state in ('failed', 'cancelled', 'obsolete') and child.policy <> 'wait'
            or parent.state is null and missing_is_ended
        order by child.id);
end
$$;
