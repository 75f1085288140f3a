-- own_schedules: returns the schedules of the caller's own, with their last 10 ticks, the newest first, as
-- [{"tick": …, "outcome": …, "job_id": …}].
--
--   select name, next_tick, problem from errand.own_schedules();
--
-- errand: for enqueuer, ops
-- errand: topic follow
create or replace function errand.own_schedules() returns table (
    name text, cron text, time_zone text, kind text, next_tick timestamptz, paused_reason text, problem text,
    last_ticks jsonb
)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
#variable_conflict use_column
declare
    logins constant text[] := errand_internal.own_logins();
begin
    return query
    select
        shown.name, shown.cron, shown.time_zone, shown.kind, shown.next_tick, shown.paused_reason, shown.problem,
        (
            select coalesce(jsonb_agg(to_jsonb(past) order by past.tick desc), '[]')
            from (
                select tick, outcome, job_id
                from errand.tick
                where schedule = shown.name
                order by tick desc
                limit 10) as past
        )
    from errand.schedules as shown
    join errand.schedule as own on own.name = shown.name and own.owner = any (logins)
    order by shown.name;
end
$$;
