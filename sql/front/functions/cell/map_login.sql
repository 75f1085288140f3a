-- map_login: stores as whom a login of the front connects to all cells: PL/Proxy's user mapping. Null for the login
-- public: all logins without a mapping of their own.
--
-- The cells give that user its rights, and their audit names it. The password is shown to nobody but superusers, and is
-- part of no statement or error: send it as a parameter.
create or replace function errand_front.map_login(login text, cell_user text, password text default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    who constant text := case when login is null then 'public' else quote_ident(login) end;
begin
    execute format('drop user mapping if exists for %s server errand_cells', who);
    execute format('create user mapping for %s server errand_cells options (user %L%s)', who, cell_user,
        case when password is null then '' else format(', password %L', password) end);
exception
    -- The statement of the error's context has the password.
    when others then
        raise exception 'login: expected a role of this database and a user of the cells (%)', sqlstate
            using errcode = 'ER422';
end
$$;
comment on function errand_front.map_login(text, text, text) is
    'Stores as whom a login of the front connects to all cells: PL/Proxy''s user mapping';
