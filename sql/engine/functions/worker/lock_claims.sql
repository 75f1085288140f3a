-- lock_claims: waits until no other large claim is under way, for 100 ms at most. The next one waits until this transaction
-- ends. Without the lock a claim is as right, only slower.
--
-- A claim that runs beside another one finds the rows that this has taken since its snapshot, locks each, and only then
-- sees that it is taken. Meanwhile their outcomes can't be written. Four sessions that claimed and finished 500 jobs at a
-- time spent 1.35 times the CPU of one for each job; one after the other it is 1.07.
create or replace function errand.lock_claims() returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp set lock_timeout = '100ms' as $$
begin
    lock table errand.claims_lock in share update exclusive mode;
exception
    when lock_not_available then
        null;
end
$$;
comment on function errand.lock_claims() is
    'Waits for up to 100 ms until no other large claim is under way; the next one waits until this transaction ends';
