-- run_task: runs a maintenance task once. is_more says that there is more to do, is_put_off that it could not be done
-- now. note is what an operator should know of it.
create or replace function errand_internal.run_task(
    existing errand.maintenance_task, out is_more boolean, out is_put_off boolean, out note text
)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    lost record;
    moved record;
    checked record;
    next_memory text;
begin
    is_more := false;
    is_put_off := false;
    case existing.name
        when 'promote' then
            is_more := errand_internal.promote_since_mark() = 1000;
        when 'promote_late' then
            is_more := (select promoted from errand_internal.promote()) = 1000;
        when 'crashed' then
            perform errand_internal.release_crashed();
        when 'release' then
            next_memory := errand_internal.release_parked(existing.memory);
        when 'bulk' then
            is_put_off := not errand_internal.run_bulk();
        when 'signals' then
            is_more := errand_internal.release_waiting();
        when 'flows' then
            select * into checked from errand_internal.check_children(existing.memory);
            next_memory := checked.next_memory;
            is_more := checked.is_more;
        when 'batches' then
            select * into checked from errand_internal.check_batches(existing.memory);
            next_memory := checked.next_memory;
            is_more := checked.is_more;
        when 'rates' then
            select * into checked from errand_internal.check_rates(existing.memory);
            next_memory := checked.memory;
            is_more := checked.is_more;
        when 'orders' then
            select * into checked from errand_internal.check_orders(existing.memory);
            next_memory := checked.next_memory;
            is_more := checked.is_more;
        when 'marks' then
            select * into moved from errand_internal.move_marks(existing.memory);
            next_memory := moved.next_memory;
            is_more := moved.is_more;
        when 'rescue', 'unlisted' then
            -- Running jobs that no record names are sought in 10,000 pages a run.
            select * into lost
            from errand_internal.rescue(
                case existing.name when 'unlisted' then coalesce(existing.memory, '0') end::bigint);
            next_memory := lost.next_page;
            is_more := lost.next_page is not null;
            if lost.lost_workers + lost.rescued + lost.failed > 0 then
                note := format(
                    'workers were lost: %s; jobs rescued: %s; jobs failed: %s', lost.lost_workers, lost.rescued,
                    lost.failed);
            end if;
        when 'partitions' then
            begin
                is_more := errand_internal.change_partitions();
            exception
                when lock_not_available then
                    is_put_off := true;
            end;
        when 'statistics' then
            is_more := errand_internal.update_statistics();
        when 'prune' then
            is_more := errand_internal.prune() = 10000;
    end case;
    if next_memory is distinct from existing.memory then
        update errand.maintenance_task as target
        set memory = next_memory
        where ctid in (
            select same.ctid from errand.maintenance_task as same where same.name = existing.name
            for update skip locked);
    end if;
end
$$;
