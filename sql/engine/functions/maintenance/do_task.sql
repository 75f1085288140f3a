-- do_task: runs a maintenance task if it is due and has something to do, and sets when it is due next. Returns what an
-- operator should know of the run, else null.
--
-- Before the run the task is put off for all sessions. So one that fails or takes too long is tried again later, and
-- holds up no other.
create or replace function errand_internal.do_task(task text) returns text
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    existing errand.maintenance_task;
    began timestamptz := clock_timestamp();
    run record;
begin
    select one.* into existing from errand.maintenance_task as one where one.name = task and one.is_long is not null;
    if not found or errand_internal.due_in(existing) > interval '0'
        or errand_internal.task_wait(existing) is distinct from interval '0'
    then
        return null;
    end if;
    perform errand_internal.set_due(
        task, least(existing.longest_wait, interval '1 minute'));
    select * into run from errand_internal.run_task(existing);
    -- Some tasks record their run themselves, with its result.
    if not exists (select from errand.maintenance_task as one where one.name = task and one.done_at >= began)
        and (
            existing.is_long or run.note is not null
            or (existing.done_at between began - interval '10 seconds' and began) is not true)
    then
        perform errand_internal.record_task(task, began, run.note);
    end if;
    perform errand_internal.set_due(
        task,
        least(
            existing.longest_wait,
            greatest(
                case
                    when run.is_put_off then interval '10 s' when run.is_more then existing.pause_if_more
                    else existing.pause
                end,
                errand_internal.rest_after(existing, began), errand_internal.task_wait(existing))));
    return run.note;
end
$$;
