-- put_http_handler: registers an endpoint as the handler of a kind: a worker posts each job's payload to it. Running
-- workers know it within five seconds.
--
--   select errand.put_http_handler('send_invoice', 'billing', max_attempts => 5);
--   select errand.enqueue('send_invoice', '{"invoice": 17}');
--
-- The endpoint is one that operators allow: errand.put_endpoint. queue, max_attempts and priority are the kind's
-- defaults, null = as they are, at first default, 10 and 2. The handler comes before one of the same kind in a program,
-- and replaces a SQL function. errand.drop_handler removes it.
--
-- Raises ER404 for an unknown endpoint, ER422 for a value out of bounds or a kind that begins with endpoint., as those
-- of errand.test_endpoint do, and ER409 for a kind of another login.
-- errand: for enqueuer, ops
-- errand: topic handlers, endpoints
create or replace function errand.put_http_handler(
    kind text, endpoint text, queue text default null, max_attempts int default null, priority int default null
) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    perform from errand.endpoint where name = put_http_handler.endpoint for share;
    if not found then
        perform errand_internal.check_known(
            'put_http_handler: endpoint', 'one that operators allow', put_http_handler.endpoint,
            array(select name from errand.endpoint), 'An operator adds one: errand.put_endpoint');
    elsif starts_with(put_http_handler.kind, 'endpoint.') then
        raise exception 'put_http_handler: kind: expected one that does not begin with endpoint., got %',
            quote_literal(left(put_http_handler.kind, 120)) using errcode = 'ER422';
    end if;
    perform errand_internal.store_kind(
        put_http_handler.kind, put_http_handler.queue, put_http_handler.max_attempts, put_http_handler.priority,
        session_user, 'put_http_handler');
    perform errand_internal.bind_kind(put_http_handler.kind, put_http_handler.endpoint);
    insert into errand.handler as old (kind, endpoint, registered_by)
    values (put_http_handler.kind, put_http_handler.endpoint, session_user)
    on conflict on constraint handler_pkey do update
    set function = null, endpoint = excluded.endpoint, timeout = null, registered_at = now(),
        registered_by = excluded.registered_by
    where (old.endpoint, old.registered_by) is distinct from (excluded.endpoint, excluded.registered_by);
end
$$;
