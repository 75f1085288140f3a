-- set_wake_flag_v1: says whether a worker sleeps and wants a NOTIFY. At once visible to all, also while transactions run.
create or replace function errand.set_wake_flag_v1(asleep boolean) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform setval('errand.wake_flag', case when asleep then 2 else 1 end);
end
$$;
comment on function errand.set_wake_flag_v1(boolean) is 'For workers: says whether one sleeps and wants a NOTIFY';
