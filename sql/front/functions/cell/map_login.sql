-- map_login: stores as whom a login of the front connects to all cells: a foreign server with a user mapping. Null for
-- the login public: all logins without one of their own.
--
-- The cells give that user its rights, and their audit names it. No role may use the server, so no login can connect as
-- another one or read the password. It is part of no statement or error: send it as a parameter. Raises ER422 for an
-- unknown login or one with a name over 50 bytes, and ER409 before the first cell.
create or replace function errand_front.map_login(login text, cell_user text, password text default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    server constant text := errand_front.server_name(login);
begin
    if login is not null and (to_regrole(quote_ident(login)) is null or octet_length(login) > 50) then
        raise exception 'login: expected a role of this database with a name of up to 50 bytes, got %',
            quote_literal(left(login, 100)) using errcode = 'ER422';
    elsif not exists (select from errand_front.cell) then
        raise exception 'login: expected a front with cells, got none'
            using errcode = 'ER409', hint = 'Add one first: `errand cells add`.';
    end if;
    perform errand_front.write_server(server);
    execute format('drop user mapping if exists for public server %I', server);
    execute format('create user mapping for public server %I options (user %L%s)', server, cell_user,
        case when password is null then '' else format(', password %L', password) end);
exception
    when sqlstate 'ER422' or sqlstate 'ER409' then
        raise;
    -- The statement of the error's context has the password.
    when others then
        raise exception 'login: expected a user of the cells (%)', sqlstate using errcode = 'ER422';
end
$$;
