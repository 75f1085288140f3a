-- pick_released: for a claim after errand_internal.release_v1 in one transaction: returns the jobs that this has just
-- released and that come before all waiting jobs, by priority and run_at: at most `wanted`. Locks their rows;
-- errand_internal.admit decides whether they may run.
--
-- So a job that has waited for a limit doesn't wait again behind all later ones.
create or replace function errand_internal.pick_released(
    queue text, kinds text[], priorities smallint[], marks bigint[], released bigint[], wanted int
) returns tid[]
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    return array(
        with head as materialized (
            select near.*
            from unnest(priorities) as level
            cross join lateral (
                select waiting.priority, waiting.run_at
                from errand.job as waiting
                where waiting.queue = pick_released.queue and waiting.priority = level
                    and waiting.queue_position > marks[level]
                    and waiting.state = 'available' and waiting.kind = any (kinds)
                order by waiting.queue_position
                limit 1) as near
        )
        select ctid
        from errand.job
        where id = any (released) and job.queue = pick_released.queue and kind = any (kinds) and state = 'available'
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
