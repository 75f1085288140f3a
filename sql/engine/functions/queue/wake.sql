-- wake: wakes sleeping workers because there may be work. Costs nothing while no worker sleeps.
--
-- NOTIFY takes a lock over the whole server at commit, so it is sent only while errand.wake_flag says that a worker
-- sleeps. A worker that misses the NOTIFY finds the job at its next poll.
create or replace function errand_internal.wake() returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if pg_sequence_last_value('errand.wake_flag') = 2 then
        perform errand_internal.notify('errand_wake', '');
    end if;
end
$$;
