-- share_routes: keeps the routes of unique keys as they are until the caller's transaction ends.
--
-- It runs as the owner, and no role has rights to the table: so no login can lock it by itself and hold up all enqueues
-- of unique keys, as with an advisory lock. Waits for 5 s at most while errand_front.lock_routes holds it, then raises
-- 55P03.
create or replace function errand_front.share_routes() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
begin
    lock table errand_front.routes_lock in row exclusive mode;
end
$$;
