-- partition_of_schedule: returns the partition of the cell that has the schedule of this name, else that of the name as
-- a routing key.
--
-- Raises ER409 if several cells have one: then errand.cell names the cell.
create or replace function errand_front.partition_of_schedule(schedule text) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    cells int[];
begin
    if nullif(current_setting('errand.cell', true), '') is not null then
        return errand_front.chosen_partition();
    end if;
    cells := array(select found_cell from errand_front.schedule_on_all(schedule) as found_cell order by found_cell);
    if cardinality(cells) > 1 then
        raise exception 'schedule %: expected it on one cell, got it on the cells %', quote_literal(schedule),
            array_to_string(cells, ', ')
            using errcode = 'ER409', hint = 'Name the cell first: set errand.cell = ' || cells[1] || '.';
    elsif cardinality(cells) = 1 then
        return errand_front.partition_of(cells[1]);
    end if;
    -- Two sessions that create it at once choose the same cell.
    return errand_front.route(null, schedule, null);
end
$$;
