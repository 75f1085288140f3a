-- parents_v1: returns the jobs that a running job has waited for, in the order of their ids, each with its state and
-- its output: for the worker that runs it, by the fence of its attempt. A state is null if that job is no longer on
-- record.
create or replace function errand_internal.parents_v1(worker_id bigint, id bigint, queue_position bigint)
returns table (job_id bigint, state text, output jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    return query
    with named as materialized (
        select parent::bigint as id
        from errand.job as child
        cross join lateral jsonb_array_elements_text(child.options -> 'after') as parent
        where child.id = parents_v1.id and coalesce(child.queue_position, 0) = parents_v1.queue_position
            and child.worker_id = parents_v1.worker_id and child.state = 'running'
    )
    select
        states.id, states.state,
        case
            when states.state = 'succeeded'
                then (select ended.output from errand.history as ended where ended.id = states.id limit 1)
        end
    from errand_internal.parent_states(array(select named.id from named)) as states
    order by states.id;
end
$$;
