-- due_in: returns how long until a maintenance task is due, 0 if it is. A time that is further ahead than its longest
-- wait is from before the server's clock was set back: it is due. After a crash of the server all tasks are.
create or replace function errand_internal.due_in(existing errand.maintenance_task) returns interval
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    wait interval := (
        coalesce(pg_sequence_last_value(('errand.' || existing.name || '_due')::regclass), 0)
            - extract(epoch from clock_timestamp()) * 1000000) * interval '1 microsecond';
begin
    return case when wait between interval '0' and existing.longest_wait then wait else interval '0' end;
end
$$;
