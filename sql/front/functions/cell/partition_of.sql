-- partition_of: returns a cell's number in PL/Proxy's cluster. Raises ER404 for an unknown cell.
create or replace function errand_front.partition_of(cell int) returns int
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    found int;
begin
    select partition into found from errand_front.cell as existing where existing.cell = partition_of.cell;
    if found is null then
        raise exception 'expected one of the cells %, got %',
            (select string_agg(existing.cell::text, ', ' order by existing.cell) from errand_front.cell as existing),
            coalesce(partition_of.cell::text, 'null')
            using errcode = 'ER404', hint = '`errand cells list` shows them.';
    end if;
    return found;
end
$$;
