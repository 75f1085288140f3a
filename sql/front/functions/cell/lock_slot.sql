-- lock_slot: waits until no other open transaction enqueues a key of the same slot. For slots that move to another
-- cell.
--
-- As with errand_front.share_routes, no login can take the lock by itself. Waits for 5 s at most, then raises 55P03.
create or replace function errand_front.lock_slot(key text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
begin
    -- First, so that the one who changes the routes never waits for a slot.
    perform errand_front.share_routes();
    perform from errand_front.slot where slot.slot = hashtextextended(key, 0) & 1023 for no key update;
end
$$;
