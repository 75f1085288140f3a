-- drop_handler: removes the handler of a kind: its SQL function, or its endpoint. Its jobs wait then until a handler
-- comes again.
--
--   select errand.drop_handler('expire_invites');
--
-- Returns whether the kind had one. Raises ER409 for a handler of another login, unless an operator asks.
-- errand: for enqueuer, ops
-- errand: topic handlers, endpoints
create or replace function errand.drop_handler(kind text) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.handler;
begin
    select * into existing from errand.handler where kind = drop_handler.kind for update;
    if not found then
        return false;
    elsif existing.registered_by is distinct from session_user
        and not coalesce(pg_has_role(session_user, to_regrole('errand_ops'), 'member'), false)
        and (existing.registered_by is null or to_regrole(quote_ident(existing.registered_by)) is not null)
    then
        raise exception 'drop_handler: kind %: expected a handler of %, got one of %', quote_literal(existing.kind),
            session_user, coalesce(existing.registered_by, 'errand migrate') using errcode = 'ER409';
    end if;
    perform errand_internal.bind_kind(drop_handler.kind, null);
    delete from errand.handler where kind = drop_handler.kind;
    return true;
end
$$;
