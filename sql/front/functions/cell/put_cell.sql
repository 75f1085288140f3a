-- put_cell: adds a cell to the front, or changes its address. address has what libpq takes, without user and password.
--
-- A new cell takes its share of jobs from the commit on. Returns the number of slots of keys that move to it. Raises
-- ER422 for a number outside of 0 to 1,023 and for an address with a user or a password, ER409 if keys of the last
-- change are not resolved.
create or replace function errand_front.put_cell(cell int, address text) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if (cell between 0 and 1023) is not true then
        raise exception 'cell: expected 0 to 1023, got %', coalesce(cell::text, 'null') using errcode = 'ER422';
    elsif address is null or address collate "C" ~* E'(^|\\s)(user|password|passfile)\\s*=' then
        -- The address is not repeated: it may hold the password.
        raise exception 'address: expected host, port and dbname without user and password'
            using errcode = 'ER422', hint = 'errand_front.map_login stores who connects.';
    end if;
    perform errand_front.lock_routes();
    lock table errand_front.cell in share row exclusive mode;
    update errand_front.cell set address = put_cell.address where cell.cell = put_cell.cell;
    if not found then
        insert into errand_front.cell (cell, partition, address)
        select put_cell.cell, count(*), put_cell.address from errand_front.cell;
    end if;
    perform errand_front.write_servers();
    insert into errand_front.slot (slot, cell)
    select slot, put_cell.cell
    from generate_series(0, 1023) as slot
    where not exists (select from errand_front.slot);
    return errand_front.spread_slots();
end
$$;
