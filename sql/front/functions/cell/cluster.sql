-- cluster: returns PL/Proxy's cluster of the session's login: the foreign server with the cells and with the user as
-- whom it connects to them. That of the login public serves all logins without one of their own.
--
-- Raises 42501 if there is neither: errand_front.map_login makes them.
create or replace function errand_front.cluster() returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    found_server text;
begin
    select srvname into found_server
    from pg_foreign_server
    where srvname in (errand_front.server_name(session_user), errand_front.server_name(null))
    order by srvname = errand_front.server_name(null)
    limit 1;
    if not found then
        raise exception 'login: expected one with a user on the cells, got %', quote_ident(session_user)
            using errcode = '42501', hint = '`errand cells login` maps it to one.';
    end if;
    return found_server;
end
$$;
