-- lock_limits: from now to the end of this transaction nobody else admits a job under a limit or a rate. False where
-- another session holds the lock for more than 100 ms; it is not asked for again in this transaction.
--
-- One lock for all keys: claims meet keys in any order, and a lock a key would let two of them wait for each other. Taken
-- by short transactions of workers only, never by an enqueue, which may be part of a long one.
create or replace function errand.lock_limits() returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp set lock_timeout = '100ms' as $$
begin
    if current_setting('errand.limits_are_locked', true) = 'yes' then
        return false;
    end if;
    lock table errand.limits_lock in share update exclusive mode;
    return true;
exception
    when lock_not_available then
        perform set_config('errand.limits_are_locked', 'yes', true);
        return false;
end
$$;
comment on function errand.lock_limits() is
    'Nobody else admits jobs under a limit or rate until this transaction ends; false where another session has the lock';
