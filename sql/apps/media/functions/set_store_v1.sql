-- set_store_v1: records the object store of this database, for errand storage init. Jobs that wait for a store are
-- released.
--
-- A worker's login records the first one. Another one in its place would stop all uploads and removals, so only an
-- operator's or the owner's login records that. Raises 42501 for another login.
-- errand: for ops
create or replace function media.set_store_v1(id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    may_replace constant boolean := session_user = current_user or exists (
        select from pg_roles
        where rolname in ('errand_ops', 'errand_owner') and pg_has_role(session_user, pg_roles.oid, 'member'));
begin
    insert into media.store as existing (id) values (set_store_v1.id)
    on conflict on constraint store_pkey do update
    set id = excluded.id, recorded_at = clock_timestamp()
    where existing.id = excluded.id or may_replace;
    if not found then
        raise exception 'set_store: expected the recorded store %, got %',
            (select existing.id from media.store as existing),
            set_store_v1.id
            using errcode = '42501', hint = format(
                'Only a login with errand_ops may replace it, and %I has no such right.', session_user);
    end if;
    perform errand_internal.circuit_closed('storage');
    perform errand_internal.record_action('storage_init', jsonb_build_object('id', set_store_v1.id));
end
$$;
