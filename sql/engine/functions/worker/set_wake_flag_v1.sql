-- set_wake_flag_v1: raises or lowers the wake-up flag: a worker sleeps and wants a NOTIFY. All sessions see it at once,
-- even while transactions run.
--
-- Lowering it sends NOTIFY errand_wake 'lowered': a sleeping worker then knows that enqueues send no NOTIFY any more.
-- Does nothing if the flag has that value already.
create or replace function errand_internal.set_wake_flag_v1(asleep boolean) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    flag constant bigint := case when asleep then 2 else 1 end;
begin
    if pg_sequence_last_value('errand.wake_flag') = flag then
        return;
    end if;
    -- It takes a transaction id, and nothing is lost with it.
    perform set_config('synchronous_commit', 'off', true);
    perform setval('errand.wake_flag', flag);
    if not asleep then
        perform errand_internal.notify('errand_wake', 'lowered');
    end if;
end
$$;
