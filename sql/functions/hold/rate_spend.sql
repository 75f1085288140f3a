-- rate_spend: counts jobs of the queue that have just been started, in the present slice.
create or replace function errand.rate_spend(queue text, started int) returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    update errand.rate
    set (slices, counts) = (
        select array_agg(slice order by slice), array_agg(total order by slice)
        from (
            select slice, sum(jobs)::int as total
            from (
                select slice, jobs from unnest(rate.slices, rate.counts) as kept(slice, jobs)
                union all
                select errand.rate_slice(rate.per), rate_spend.started
            ) as every
            where slice >= errand.rate_slice(rate.per) - 20
            group by slice) as present)
    where rate.queue = rate_spend.queue
$$;
comment on function errand.rate_spend(text, int) is 'Counts jobs of a queue with a rate that have just been started';
