-- remove_unwanted_v1: lists an object for removal that an upload has stored although its row is gone.
create or replace function media.remove_unwanted_v1(key text) returns void
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
begin
    insert into media.removal (in_flight, key) values (false, remove_unwanted_v1.key)
    on conflict on constraint removal_key do nothing;
    perform errand.enqueue('object_removal');
end
$$;
