-- add_histograms: adds two histograms bucket by bucket; missing buckets count as 0.
create or replace function errand_internal.add_histograms(one bigint[], other bigint[]) returns bigint[]
-- Not in SQL: that would be planned for each row.
language plpgsql immutable parallel safe set search_path = pg_catalog, errand, pg_temp as $$
declare
    summed bigint[] := one || array_fill(0::bigint, array[greatest(cardinality(other) - cardinality(one), 0)]);
begin
    for bucket in 1..cardinality(other) loop
        if other[bucket] <> 0 then
            summed[bucket] := summed[bucket] + other[bucket];
        end if;
    end loop;
    return summed;
end
$$;
