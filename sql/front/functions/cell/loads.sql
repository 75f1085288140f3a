-- loads: for errand_front.cell_status: returns how loaded each cell is. Cells that can't be reached have no row.
create or replace function errand_front.loads() returns table (
    cell int, waiting bigint, running bigint, failed bigint, oldest_age interval, finished_5_min bigint, workers bigint,
    connections bigint, bytes bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    existing int;
begin
    return query select * from errand_front.loads_on_all();
exception
    when connection_exception or external_routine_exception or internal_error then
        for existing in select partition from errand_front.cell loop
            begin
                return query select * from errand_front.loads_at(existing);
            exception
                when connection_exception or external_routine_exception or internal_error then null;
            end;
        end loop;
end
$$;
