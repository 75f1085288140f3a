-- drop_cell: removes a drained cell from the front. Its history is no longer visible there.
--
-- Raises ER404 for an unknown cell, ER409 unless it is draining and has no unfinished and no failed job.
create or replace function errand_front.drop_cell(cell int) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    existing record;
    unfinished bigint;
begin
    perform errand_front.partition_of(cell);
    perform errand_front.lock_routes();
    perform errand_front.resolve_slots();
    lock table errand_front.cell in share row exclusive mode;
    select * into existing from errand_front.cell as one where one.cell = drop_cell.cell;
    unfinished := errand_front.jobs_left_at(existing.partition);
    if existing.state <> 'draining' or unfinished > 0 then
        raise exception 'cell %: expected it to be drained, got % with % jobs', cell, existing.state, unfinished
            using errcode = 'ER409',
            hint = '`errand cells drain` gives it no new jobs, and its workers finish the others.';
    end if;
    delete from errand_front.cell as one where one.cell = drop_cell.cell;
    -- PL/Proxy numbers its places without gaps.
    update errand_front.cell
    set partition = existing.partition
    where partition = (select max(partition) from errand_front.cell) and partition > existing.partition;
    perform errand_front.write_servers();
end
$$;
