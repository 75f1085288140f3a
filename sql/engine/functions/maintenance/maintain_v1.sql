-- maintain_v1: runs a maintenance task, if it is due still, and returns the next one: next_task, in next_in
-- microseconds. Any number of programs may call it, with what the last call returned, or with null to begin and after a
-- failure.
--
-- A call runs at most one task, so that each is a transaction of its own. With is_long only the long ones, which may
-- take seconds: two connections, one for each sort, keep promotion from waiting for them. note is what an operator
-- should know of the run, else null. A failed task is put off. Raises ER421 if the database is a copy that nobody has
-- adopted.
create or replace function errand_internal.maintain_v1(
    task text, is_long boolean, out note text, out next_task text, out next_in bigint
)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    next record;
begin
    perform errand_internal.check_home();
    if task is not null then
        note := errand_internal.do_task(task);
    end if;
    select * into next from errand_internal.next_task(is_long);
    next_task := next.task;
    next_in := extract(epoch from next.wait) * 1000000;
end
$$;
