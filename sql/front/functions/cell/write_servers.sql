-- write_servers: writes the cells into PL/Proxy's clusters, the foreign servers of all logins.
create or replace function errand_front.write_servers() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform errand_front.write_server(srvname)
    from pg_foreign_server
    where starts_with(srvname, errand_front.server_name(''));
end
$$;
