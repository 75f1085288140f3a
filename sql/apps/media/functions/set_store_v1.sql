-- set_store_v1: records the object store of this database, for errand storage init. Jobs that wait for a store are
-- released.
create or replace function media.set_store_v1(id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
begin
    insert into media.store as known (id) values (set_store_v1.id)
    on conflict on constraint store_pkey do update set id = excluded.id, recorded_at = clock_timestamp();
    perform errand.dependency_closed('storage');
    perform errand.record_action('storage_init', jsonb_build_object('id', set_store_v1.id));
end
$$;
comment on function media.set_store_v1(uuid) is 'For errand storage init: records the object store of this database';
