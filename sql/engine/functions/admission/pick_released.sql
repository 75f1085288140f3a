-- pick_released: for a claim that has released jobs (errand_internal.release_limits): returns those of them that come
-- before all waiting jobs, by priority and run_at: at most `wanted`. Locks their rows; errand_internal.admit decides
-- whether they may run.
--
-- So a job that has waited for a limit doesn't wait again behind all later ones.
create or replace function errand_internal.pick_released(
    scope errand.claim_scope, marks bigint[], released bigint[], wanted int
) returns tid[]
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    return array(
        with head as materialized (
            select near.*
            from unnest(scope.priorities) as level
            cross join lateral (
                select waiting.priority, waiting.run_at
                from errand.job as waiting
                where waiting.queue = scope.queue and waiting.priority = level
                    and waiting.queue_position > marks[level]
                    and waiting.state = 'available' and waiting.kind = any (scope.kinds)
                order by waiting.queue_position
                limit 1) as near
        )
        select ctid
        from errand.job
        where id = any (released) and job.queue = scope.queue and kind = any (scope.kinds) and state = 'available'
            and crashes = 0
            and not exists (
                select
                from head
                where head.priority < job.priority or head.priority = job.priority and head.run_at < job.run_at)
        order by priority, run_at, id
        limit wanted
        for update skip locked);
end
$$;
