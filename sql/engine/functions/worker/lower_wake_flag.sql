-- lower_wake_flag: lowers the flag that asks for wake-ups where no worker is alive, so that enqueues send no NOTIFY
-- that nobody hears. A worker lowers it itself when it is woken; one that was killed in its sleep can't.
create or replace function errand.lower_wake_flag() returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if (select last_value from errand.wake_flag) = 2
        and not exists (select from errand.worker where heartbeat_at > now() - lease)
    then
        perform setval('errand.wake_flag', 1);
    end if;
end
$$;
comment on function errand.lower_wake_flag() is 'Lowers the flag that asks for wake-ups where no worker is alive';
