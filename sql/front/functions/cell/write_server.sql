-- write_server: writes the cells into one of PL/Proxy's clusters, a foreign server. Sessions connect anew where an
-- address has changed.
create or replace function errand_front.write_server(server text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    changes text;
begin
    if not exists (select from pg_foreign_server where srvname = server) then
        -- Without modular mapping, PL/Proxy would accept two, four or eight cells only.
        execute format(
            'create server %I foreign data wrapper plproxy '
            'options (modular_mapping ''1'', connection_lifetime ''1800'', p0 %L)',
            server, (select address from errand_front.cell where partition = 0));
    end if;
    with known as (
        select option_name as name, option_value as address
        from pg_foreign_server, pg_options_to_table(srvoptions)
        where srvname = server and option_name ~ '^p[0-9]+$'
    )
    select string_agg(
        case
            when cell.address is null then 'drop ' || known.name
            when known.name is null then format('add %I %L', 'p' || cell.partition, cell.address)
            else format('set %I %L', known.name, cell.address)
        end, ', ' order by coalesce(cell.partition, 1024))
    into changes
    from known
    full join errand_front.cell on 'p' || cell.partition = known.name
    where known.address is distinct from cell.address;
    if changes is not null then
        execute format('alter server %I options (%s)', server, changes);
    end if;
end
$$;
