-- chosen_partition: returns the partition of the cell that the setting errand.cell names, for functions that act on one
-- cell.
--
--   set errand.cell = 3;
--
-- Raises ER422 without it.
create or replace function errand_front.chosen_partition() returns int
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    chosen constant text := nullif(current_setting('errand.cell', true), '');
begin
    if chosen is null or chosen !~ '^[0-9]{1,4}$' then
        raise exception 'errand.cell: expected a cell, got %', coalesce(quote_literal(chosen), 'nothing')
            using errcode = 'ER422', hint = 'This acts on one cell. Name it first: set errand.cell = 3.';
    end if;
    return errand_front.partition_of(chosen::int);
end
$$;
