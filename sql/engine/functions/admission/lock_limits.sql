-- lock_limits: takes the lock under which jobs are admitted under limits and rates, until the transaction ends. Returns
-- false if another session holds the lock for more than 100 ms. A caller then does not try again.
--
-- One lock serves all keys. Claims meet keys in any order, so with a lock for each key two claims could wait for each
-- other. Only short transactions of workers take it. An enqueue never does, since it may be part of a long transaction.
create or replace function errand_internal.lock_limits() returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp set lock_timeout = '100ms' as $$
begin
    lock table errand.limits_lock in share update exclusive mode;
    return true;
exception
    when lock_not_available then
        return false;
end
$$;
