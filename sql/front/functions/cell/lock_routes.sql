-- lock_routes: waits until no open transaction enqueues a unique key, and lets none begin before the caller commits.
--
-- Enqueues of unique keys share the lock (errand_front.share_routes): otherwise one that has read the old route could
-- insert a key that another has just inserted by the new one. Waits for 2 s at most, then raises 55P03.
create or replace function errand_front.lock_routes() returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
begin
    lock table errand_front.routes_lock in share row exclusive mode;
end
$$;
