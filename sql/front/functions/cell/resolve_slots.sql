-- resolve_slots: ends the change of routes of those slots whose former cell has no unfinished job with such a unique
-- key any more. Returns how many still wait.
create or replace function errand_front.resolve_slots() returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    former record;
begin
    for former in
        select distinct cell.cell, cell.partition from errand_front.slot join errand_front.cell on cell.cell = slot.was
    loop
        begin
            update errand_front.slot
            set was = null
            where slot.was = former.cell
                and slot.slot not in (select taken from errand_front.key_slots_at(former.partition) as taken);
        exception
            -- PL/Proxy's error for a cell that can't be reached.
            when connection_exception or external_routine_exception or internal_error then null;
        end;
    end loop;
    return (select count(*) from errand_front.slot where was is not null);
end
$$;
