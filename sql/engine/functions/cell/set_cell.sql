-- set_cell: makes this database the cell of that number, once: its job ids are unique over cells from then on.
--
-- Returns whether it was another cell before. Raises ER422 for a number outside of 0 to 1,023, ER409 if the database is
-- another cell already, or if it is cell 0 and has given out ids. For errand migrate --cell.
create or replace function errand_internal.set_cell(cell int) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    existing int;
begin
    if (cell between 0 and 1023) is not true then
        raise exception 'set_cell: cell: expected 0 to 1023, got %', coalesce(cell::text, 'null')
            using errcode = 'ER422';
    end if;
    -- No id is given out while another session changes the range.
    lock table errand.job in share row exclusive mode;
    select home.cell into existing from errand.home for update;
    if existing = set_cell.cell then
        return false;
    elsif existing <> 0 then
        raise exception 'set_cell: cell: expected %, which this database is already, got %', existing, set_cell.cell
            using errcode = 'ER409', hint = 'The cell of a database never changes: its jobs keep their ids.';
    elsif pg_sequence_last_value('errand.job_id_seq') is not null then
        raise exception 'set_cell: cell: expected 0, since jobs have ids of cell 0 already, got %', set_cell.cell
            using errcode = 'ER409', hint = 'Set the cell of a new database, before its first job.';
    end if;
    execute format(
        'alter sequence errand.job_id_seq minvalue %s maxvalue %s start %1$s restart',
        (set_cell.cell::bigint << 43) + 1, (set_cell.cell + 1::bigint << 43) - 1);
    update errand.home set cell = set_cell.cell;
    return true;
end
$$;
