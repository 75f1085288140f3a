-- flow_edges: returns which younger jobs wait for which, or have waited for them, as far as a bounded search finds: in
-- 5,000 that wait for jobs now, and in the next 5,000 ids, which a flow that was enqueued at once has. At most 20,000
-- pairs, those of the oldest jobs.
--
-- What a job waits for stands in its own row, and no index finds it there: each enqueue would pay for that.
create or replace function errand_internal.flow_edges(job_id bigint)
returns table (child bigint, parent bigint)
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant int := 5000;
    far constant bigint := flow_edges.job_id + most;
begin
    return query
    with near as materialized (
        select id, options
        from (
            select id, options
            from errand.job
            -- From job:1 to job:9…, in any collation.
            where parked_for > 'job:' and parked_for < 'job:A'
            limit case when errand_internal.any_waits_for_jobs() then most else 0 end) as waiting
        where id > flow_edges.job_id
        union all
        select id, options
        from errand.job
        where id > flow_edges.job_id and id <= far and options ? 'after'
            -- Those are above, if there are not too many.
            and starts_with(parked_for, 'job:') is not true
        union all
        select id, options
        from errand.failed
        where id > flow_edges.job_id and id <= far and options ? 'after'
        union all
        select id, options
        from errand.history
        where id > flow_edges.job_id and id <= far and options ? 'after'
    )
    select near.id, named::bigint
    from (select * from near order by id limit 2 * most) as near
    cross join lateral jsonb_array_elements_text(near.options -> 'after') as named
    -- A job waits for older ones only, and so does what waits for it.
    where named::bigint >= flow_edges.job_id
    limit 20000;
end
$$;
