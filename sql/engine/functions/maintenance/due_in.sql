-- due_in: returns how long until a maintenance task is due, negative once it is: of two due tasks, the one that has
-- waited for longer comes first. A time that is further ahead than its longest wait is from before the server's clock
-- was set back: the task is due. After a crash of the server all tasks are. Both count as a day, the most.
create or replace function errand_internal.due_in(existing errand.maintenance_task) returns interval
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    wait interval := (
        coalesce(pg_sequence_last_value(('errand.' || existing.name || '_due')::regclass), 0)
            - extract(epoch from clock_timestamp()) * 1000000) * interval '1 microsecond';
begin
    return case when wait between interval '-1 day' and existing.longest_wait then wait else interval '-1 day' end;
end
$$;
