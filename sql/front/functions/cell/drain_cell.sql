-- drain_cell: gives a cell no new jobs any more, or with `drain => false` its share of them again.
--
-- Its own jobs are worked off by its workers. Unique keys of its unfinished jobs stay there until those end. Returns
-- the number of slots of keys that move. Raises ER404 for an unknown cell, ER409 for the last active one, and if keys
-- of the last change are not resolved.
create or replace function errand_front.drain_cell(cell int, drain boolean default true) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform errand_front.partition_of(cell);
    perform errand_front.lock_routes();
    update errand_front.cell
    set state = case when drain then 'draining' else 'active' end
    where cell.cell = drain_cell.cell;
    if not exists (select from errand_front.cell where state = 'active') then
        raise exception 'cell: expected one beside another active cell, got the last active one, %', cell
            using errcode = 'ER409', hint = 'Add another one first.';
    end if;
    return errand_front.spread_slots();
end
$$;
