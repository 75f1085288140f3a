-- store_kind: stores the defaults of errand.enqueue for a kind: errand.put_handler and errand.put_kind. Null stays as
-- it is, at first default, 10 and 2. With registered_by null it is one of an app of errand's own.
--
-- Raises ER422 for a value out of bounds, and ER409 for a kind of another login.
create or replace function errand_internal.store_kind(
    kind text, queue text, max_attempts int, priority int, registered_by text, context text, app text default null
) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.kind;
begin
    perform errand_internal.check_job(
        store_kind.kind, '{}', store_kind.queue, store_kind.priority, store_kind.max_attempts, null, context);
    select * into existing from errand.kind where name = store_kind.kind for update;
    if existing.registered_by <> store_kind.registered_by
        and to_regrole(quote_ident(existing.registered_by)) is not null
        and not pg_has_role(store_kind.registered_by, quote_ident(existing.registered_by)::regrole, 'member')
    then
        raise exception '%: kind %: expected one of %, got one of %', context, store_kind.kind,
            store_kind.registered_by, existing.registered_by using errcode = 'ER409';
    end if;
    insert into errand.kind as old (name, app, queue, max_attempts, priority, registered_by)
    values (
        store_kind.kind, store_kind.app, coalesce(store_kind.queue, 'default'), coalesce(store_kind.max_attempts, 10),
        coalesce(store_kind.priority, 2), coalesce(store_kind.registered_by, current_user))
    on conflict on constraint kind_pkey do update
    set app = excluded.app, queue = coalesce(store_kind.queue, old.queue),
        max_attempts = coalesce(store_kind.max_attempts, old.max_attempts),
        priority = coalesce(store_kind.priority, old.priority), registered_by = excluded.registered_by
    where (old.app, old.queue, old.max_attempts, old.priority, old.registered_by) is distinct from (
        excluded.app, coalesce(store_kind.queue, old.queue), coalesce(store_kind.max_attempts, old.max_attempts),
        coalesce(store_kind.priority, old.priority), excluded.registered_by);
end
$$;
