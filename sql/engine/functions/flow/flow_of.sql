-- flow_of: returns a job with those that it waits for and those that wait for it, directly and through others, the
-- nearest first.
--
--   select * from errand.flow_of(4711);
--   select id, kind, state from errand.flow_of(4711, within => 1);
--
-- distance is 0 for the job, below 0 for what it waits for and above 0 for what waits for it; after has the jobs of the
-- result that a job waits for, or has waited for. The state is null for a job that is no longer on record. Returns no
-- row for an unknown job.
--
-- At most up_to jobs, 1 to 1,000, and within steps. A job that has begun to run is found behind another one if its id
-- is among the next 5,000, one that waits for others if at most 5,000 do or if it waits for that one next. Costs
-- milliseconds, and 0.3 s for a chain of 1,000. Raises ER422 for other arguments.
-- errand: for ops, monitor
-- errand: topic find
create or replace function errand.flow_of(job_id bigint, up_to int default 100, within int default 1000)
returns table (distance int, id bigint, kind text, queue text, state text, after bigint[])
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
    found_ids bigint[];
    distances int[] := '{0}';
    older bigint[];
    younger bigint[];
    next_older bigint[] := '{}';
    next_younger bigint[] := '{}';
    near bigint[];
    up int := 1;
    down int := 1;
    room int;
    children bigint[];
    parents bigint[];
begin
    if up_to is null or up_to not between 1 and 1000 then
        raise exception 'flow_of: up_to: expected 1 to 1000, got %', coalesce(up_to::text, 'null')
            using errcode = 'ER422';
    elsif within is null or within < 0 then
        raise exception 'flow_of: within: expected a number of steps, got %', coalesce(within::text, 'null')
            using errcode = 'ER422';
    elsif errand_internal.state_of(flow_of.job_id) is null then
        return;
    end if;
    found_ids := array[flow_of.job_id];
    older := found_ids;
    younger := found_ids;
    select array_agg(edge.child), array_agg(edge.parent) into children, parents
    from errand_internal.flow_edges(flow_of.job_id) as edge;
    -- Each round goes on by a step in both directions, and each direction leaves room for the other one.
    loop
        if up > within then
            older := '{}';
        end if;
        if down > within then
            younger := '{}';
        end if;
        exit when older = '{}' and younger = '{}';
        room := up_to - cardinality(found_ids);
        exit when room = 0;
        if older <> '{}' then
            room := case when younger = '{}' then room else (room + 1) / 2 end;
            near := array(
                select distinct parent
                from errand_internal.flow_jobs(older) as existing
                cross join lateral unnest(existing.after) as parent
                where parent not in (select unnest(found_ids))
                order by parent desc
                limit room);
            found_ids := found_ids || near;
            distances := distances || array_fill(-up, array[cardinality(near)]);
            next_older := next_older || near;
            if cardinality(near) < room then
                older := next_older;
                next_older := '{}';
                up := up + 1;
            end if;
        end if;
        room := up_to - cardinality(found_ids);
        if younger <> '{}' and room > 0 then
            room := case when older = '{}' then room else (room + 1) / 2 end;
            near := array(
                select child
                from (
                    select edge.child
                    from unnest(children, parents) as edge(child, parent)
                    where edge.parent = any (younger)
                    union
                    select waiting.id
                    from unnest(younger) as one(id)
                    cross join lateral (
                        select id from errand.job where parked_for = 'job:' || one.id limit up_to) as waiting
                ) as either
                where child not in (select unnest(found_ids))
                order by child
                limit room);
            found_ids := found_ids || near;
            distances := distances || array_fill(down, array[cardinality(near)]);
            next_younger := next_younger || near;
            if cardinality(near) < room then
                younger := next_younger;
                next_younger := '{}';
                down := down + 1;
            end if;
        end if;
    end loop;
    return query
    select
        found.distance, found.id, existing.kind, existing.queue, existing.state,
        array(select parent from unnest(existing.after) as parent where parent in (select unnest(found_ids)))
    from unnest(found_ids, distances) as found(id, distance)
    left join errand_internal.flow_jobs(found_ids) as existing on existing.id = found.id
    order by abs(found.distance), found.distance, found.id;
end
$$;
