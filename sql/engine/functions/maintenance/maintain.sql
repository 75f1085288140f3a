-- maintain: runs the next maintenance task that is due, if any. Returns how long until the next one is: 0 if there is
-- more to do at once.
--
--   select errand.maintain() \watch 1
--
-- Each worker and scheduler does so by itself. This is for a queue without one, by psql or pg_cron: scheduled jobs are
-- made available at their time, jobs of lost workers come back, and old rows are deleted. A call runs at most one task,
-- which takes up to some seconds. Raises ER421 if the database is a copy that nobody has adopted.
-- errand: for worker, ops
-- errand: topic health
create or replace function errand.maintain() returns interval
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    due record;
begin
    perform errand_internal.check_home();
    select * into due from errand_internal.next_task(null);
    if due.wait = interval '0' then
        perform errand_internal.do_task(due.task);
        select * into due from errand_internal.next_task(null);
    end if;
    return due.wait;
end
$$;
