-- lock_limits: from now to the end of this transaction nobody else admits a job under a limit.
--
-- One lock for all keys: claims meet keys in any order, and a lock a key would let two of them wait for each other. Taken
-- by short transactions of workers only, never by an enqueue, which may be part of a long one.
create or replace function errand.lock_limits() returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select pg_advisory_xact_lock(hashtext('errand.limits'))
$$;
comment on function errand.lock_limits() is 'Nobody else admits jobs under a limit until this transaction ends';
