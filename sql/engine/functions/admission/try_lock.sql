-- try_lock: takes the lock crashed, schedule or statistics until the transaction ends, and
-- returns whether it could. Never waits.
create or replace function errand_internal.try_lock(name text) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    execute format('lock table errand.%I in share update exclusive mode nowait', name || '_lock');
    return true;
exception
    when lock_not_available then
        return false;
end
$$;
