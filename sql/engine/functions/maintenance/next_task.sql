-- next_task: returns the maintenance task that is due first, of the long or the short ones (null: of all), and in how
-- long: 0 if it has work now. A due task without work is probed again after its longest wait. Tasks come in the order
-- in which they were due, so a task a second reaches all of them, though some are due all the time.
--
-- within: a task that is due within this time is probed already.
create or replace function errand_internal.next_task(
    is_long boolean, within interval default '0', out task text, out wait interval
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
declare
    existing errand.maintenance_task;
    own_wait interval;
    work_in interval;
    began timestamptz;
    probed text[] := '{}';
begin
    for existing in
        select one.*
        from errand.maintenance_task as one
        where coalesce(one.is_long = next_task.is_long, one.is_long is not null)
        order by errand_internal.due_in(one), one.is_long, one.pause
    loop
        own_wait := greatest(errand_internal.due_in(existing), interval '0');
        if own_wait <= within then
            began := clock_timestamp();
            work_in := errand_internal.task_wait(existing);
            if work_in is distinct from interval '0' then
                own_wait := least(
                    existing.longest_wait,
                    greatest(
                        coalesce(work_in, existing.longest_wait), errand_internal.rest_after(existing, began)));
                perform errand_internal.set_due(existing.name, own_wait);
                probed := probed || existing.name;
            end if;
        end if;
        if wait is null or own_wait < wait then
            task := existing.name;
            wait := own_wait;
        end if;
        exit when wait = interval '0';
    end loop;
    -- Seldom, since it takes a transaction id.
    update errand.maintenance_task
    set done_at = now()
    where ctid = any (array(
        select same.ctid
        from errand.maintenance_task as same
        where same.name = any (probed) and (same.done_at between now() - interval '30 seconds' and now()) is not true
        for update skip locked));
end
$$;
