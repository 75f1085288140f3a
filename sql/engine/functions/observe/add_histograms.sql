-- add_histograms: adds two histograms bucket by bucket; missing buckets count as 0.
create or replace function errand_internal.add_histograms(one bigint[], other bigint[]) returns bigint[]
language sql immutable parallel safe set search_path = pg_catalog, errand, pg_temp as $$
    select case
        when cardinality(one) = 0 then other
        when cardinality(other) = 0 then one
        else array(
            select coalesce(a, 0) + coalesce(b, 0)
            from unnest(one, other) with ordinality as bucket(a, b, index)
            order by index)
    end
$$;
