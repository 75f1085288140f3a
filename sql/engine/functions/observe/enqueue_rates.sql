-- enqueue_rates: how many jobs a second are enqueued, by queue and kind, the most first.
--
--   select * from errand.enqueue_rates();
--
-- Enqueues count nothing. So this reads the jobs of the last span by their ids: the newest 10,000 at most, in
-- whichever table they are. window_seconds says how far back these reach. Jobs that were enqueued in a transaction that
-- has not committed are missing.
-- errand: for ops, monitor
-- errand: topic rates
create or replace function errand.enqueue_rates(span interval default interval '5 minutes')
returns table (queue text, kind text, per_second numeric, jobs bigint, window_seconds numeric)
language sql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
    with newest as (
        (select id, queue, kind, created_at from errand.job order by id desc limit 10000)
        union all
        (select id, queue, kind, created_at from errand.failed order by id desc limit 10000)
        union all
        (select id, queue, kind, created_at from errand.history order by id desc limit 10000)
        order by id desc
        limit 10000
    ),
    reach as (
        select
            case when count(*) < 10000 then now() - enqueue_rates.span
                else greatest(min(created_at), now() - enqueue_rates.span) end as since
        from newest
    )
    select
        queue, kind, round(count(*) / window_s, 3), count(*), round(window_s, 1)
    from newest
    cross join (
        select since, greatest(extract(epoch from now() - since), 0.001) as window_s from reach
    ) as reach
    where created_at >= since
    group by queue, kind, window_s
    order by count(*) desc, queue, kind
$$;
