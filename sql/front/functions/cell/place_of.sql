-- place_of: returns a cell's number in PL/Proxy's cluster. Raises ER404 for an unknown cell.
create or replace function errand_front.place_of(cell int) returns int
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    found_place int;
begin
    select place into found_place from errand_front.cell as known where known.cell = place_of.cell;
    if found_place is null then
        raise exception 'expected one of the cells %, got %',
            (select string_agg(known.cell::text, ', ' order by known.cell) from errand_front.cell as known),
            coalesce(place_of.cell::text, 'null')
            using errcode = 'ER404', hint = '`errand cells list` shows them.';
    end if;
    return found_place;
end
$$;
