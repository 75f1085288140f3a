-- add_histograms: adds two histograms bucket by bucket; the shorter one goes on with zeros.
create or replace function errand.add_histograms(one int[], other int[]) returns int[]
language sql immutable parallel safe set search_path = pg_catalog, errand, pg_temp as $$
    select case
        when cardinality(one) = 0 then other
        when cardinality(other) = 0 then one
        else array(
            select coalesce(a, 0) + coalesce(b, 0)
            from unnest(one, other) with ordinality as bucket(a, b, place)
            order by place)
    end
$$;
comment on function errand.add_histograms(int[], int[]) is 'Adds two histograms bucket by bucket';

-- sum_histograms: the sum of histograms, as an aggregate.
create or replace aggregate errand.sum_histograms(int[]) (
    sfunc = errand.add_histograms, stype = int[], initcond = '{}');
comment on aggregate errand.sum_histograms(int[]) is 'The sum of histograms, bucket by bucket';

-- percentile: the time in milliseconds below which that share of a histogram's entries lies; null where there are none.
--
--   select errand.percentile('{90, 0, 10}', 0.95);
--
-- The first bucket is below 1 ms, each next one ends at sqrt(2) times the one before; within one it goes in a straight
-- line, so that the answer is off by 20 % at most.
create or replace function errand.percentile(histogram int[], share double precision) returns double precision
language sql immutable parallel safe set search_path = pg_catalog, errand, pg_temp as $$
    with bucket as (
        select place, n, sum(n) over (order by place) as upto, sum(n) over () as whole
        from unnest(histogram) with ordinality as entry(n, place)
    )
    select round((start + (2 ^ ((place - 1) / 2.0) - start) * (share * whole - (upto - n)) / n)::numeric, 2)
    from bucket
    cross join lateral (select case when place = 1 then 0 else 2 ^ ((place - 2) / 2.0) end as start) as from_here
    where upto >= share * whole and n > 0
    order by place
    limit 1
$$;
comment on function errand.percentile(int[], double precision) is
    'The time in ms below which that share of a histogram''s entries lies; off by 20 % at most';
