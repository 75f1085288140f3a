-- begin_check: begins a task of maintenance that looks for what commits side by side have hidden from each other. Its
-- own commit doesn't wait for the disk.
--
-- Returns false if the transaction has an older snapshot: that doesn't show what the transactions have written that
-- ended after it.
create or replace function errand_internal.begin_check() returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        return false;
    end if;
    perform set_config('synchronous_commit', 'off', true);
    return true;
end
$$;
