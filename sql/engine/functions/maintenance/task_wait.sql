-- task_wait: returns how long a maintenance task has nothing to do, null if that isn't known. It is 0 if there is work
-- now, or if only the task itself can tell.
create or replace function errand_internal.task_wait(existing errand.maintenance_task) returns interval
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    has_work boolean;
    wait interval;
begin
    case existing.name
        when 'promote' then
            -- A job may be due at infinity.
            select least(next.run_at, now() + existing.longest_wait) - now()
            into wait
            from (
                (select run_at
                from errand.job
                where queue_position is null and parked_for is null and state = 'scheduled'
                    and run_at > errand_internal.promotion_mark() - interval '10 seconds'
                order by run_at
                limit 1)
                union all
                (select min(paused_until) from errand.queue)
            ) as next
            order by next.run_at
            limit 1;
            return case when wait < interval '0' then interval '0' else wait end;
        when 'crashed' then
            has_work := exists (select from errand.job where parked_for = 'crash');
        when 'release' then
            -- In two ranges: jobs that wait for others lie between them.
            has_work := exists (select from errand.job where parked_for > 'circuit:' and parked_for < 'crash')
                or exists (select from errand.job where parked_for > 'limit:' and parked_for < 'order:')
                or exists (
                    select
                    from errand.circuit
                    where opened_at is not null and (probe_job_id is not null or until <= now()));
        when 'bulk' then
            has_work := exists (select from errand.bulk where ended_at is null);
        when 'signals' then
            has_work := exists (select from errand.signal_check)
                or exists (select from errand.signal_wait where until <= now());
        when 'flows' then
            has_work := errand_internal.any_waits_for_jobs();
        when 'batches' then
            has_work := errand_internal.any_batch_due();
        when 'rates' then
            has_work := exists (select from errand.rate_change) or exists (select from errand.rate_reservation);
        when 'orders' then
            has_work := exists (select from errand.order_job) or exists (select from errand.order_check);
        when 'marks' then
            has_work := exists (select from errand.worker where pulls_as is not null);
        when 'rescue' then
            return errand_internal.rescue_wait();
        else
            has_work := true;
    end case;
    return case when has_work then interval '0' end;
end
$$;
