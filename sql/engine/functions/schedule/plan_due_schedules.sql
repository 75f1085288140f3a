-- plan_due_schedules: plans anew those of these schedules whose plan has ended or is too old, of which nothing is due,
-- or of which a due tick isn't at the local time that was planned: the rules of its zone have changed.
--
-- The caller has locked the schedules. Raises what errand_internal.plan_schedule raises.
create or replace function errand_internal.plan_due_schedules(schedules text[]) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform errand_internal.plan_schedule(target.name)
    from errand.schedule as target
    left join errand.schedule_plan as plan on plan.schedule = target.name
    cross join lateral (
        select width_bucket(target.last_tick, plan.ticks) + 1 as first, width_bucket(now(), plan.ticks) as last
    ) as due
    where target.name = any (schedules)
        and (
            plan.schedule is null or plan.renew_at <= now() or last = cardinality(plan.ticks) or last < first
            or (
                target.every is null
                and exists (
                    select
                    from generate_series(first, last) as index
                    where plan.ticks[index] at time zone target.time_zone <> plan.locals[index])));
end
$$;
