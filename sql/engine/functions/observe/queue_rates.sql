-- queue_rates: whether each queue catches up: jobs in and out a second, and when the waiting ones are done.
--
--   select * from errand.queue_rates();
--
-- Out are the jobs that succeeded or failed within the last 5 minutes; in is of errand.enqueue_rates. done_in is null
-- for a queue that gets more than it completes: it does not catch up.
-- errand: for ops, monitor
-- errand: topic rates
create or replace function errand.queue_rates()
returns table (
    queue text, waiting bigint, oldest_age interval, in_per_second numeric, out_per_second numeric, done_in interval
)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
#variable_conflict use_column
begin
    return query
    select
        queue, waiting, oldest_age, enqueued, ended,
        case
            when waiting = 0 then interval '0'
            when ended > enqueued
                then date_trunc('second', least(waiting / (ended - enqueued), 3e8) * interval '1 second')
        end
    from (
        select
            existing.queue, existing.waiting, existing.oldest_age, coalesce(rate.per_second, 0) as enqueued,
            round((existing.succeeded_5_min + existing.failed_5_min) / 300.0, 3) as ended
        from errand.queues as existing
        left join (
            select queue, sum(per_second) as per_second from errand.enqueue_rates() group by queue
        ) as rate using (queue)
    ) as flow
    order by oldest_age desc nulls last, queue;
end
$$;
