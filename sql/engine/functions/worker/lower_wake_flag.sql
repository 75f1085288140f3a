-- lower_wake_flag: lowers the wake-up flag if no worker is alive, so that enqueues send no needless NOTIFY. A worker
-- lowers it itself when it wakes up, unless it was killed while it slept.
create or replace function errand_internal.lower_wake_flag() returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if (select last_value from errand.wake_flag) = 2
        and not exists (select from errand.worker where heartbeat_at > now() - lease)
    then
        perform setval('errand.wake_flag', 1);
    end if;
end
$$;
