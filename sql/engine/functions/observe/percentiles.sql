-- percentiles: returns the percentiles of a histogram in milliseconds, one for each of the ascending `shares`; nulls
-- for an empty histogram.
--
-- The first bucket ends at 1 ms, and each next one at sqrt(2) times the end of the one before. The bucket that reaches
-- the share is interpolated. A loop takes 15 us a histogram; window functions over all buckets of all histograms took
-- 65.
create or replace function errand_internal.percentiles(histogram bigint[], shares float8[]) returns float8[]
language plpgsql immutable parallel safe set search_path = pg_catalog, errand, pg_temp as $$
declare
    whole bigint := 0;
    upto bigint := 0;
    jobs bigint;
    low float8 := 0;
    high float8 := 1;
    reached float8[] := '{}';
    wanted float8;
begin
    foreach jobs in array histogram loop
        whole := whole + coalesce(jobs, 0);
    end loop;
    if whole = 0 then
        return array_fill(null::float8, array[cardinality(shares)]);
    end if;
    wanted := shares[1] * whole;
    foreach jobs in array histogram loop
        if jobs > 0 then
            upto := upto + jobs;
            while upto >= wanted loop
                reached := reached
                    || round((low + (high - low) * greatest(0, wanted - (upto - jobs)) / jobs)::numeric, 2)::float8;
                wanted := shares[cardinality(reached) + 1] * whole;
            end loop;
            exit when wanted is null;
        end if;
        low := high;
        high := high * sqrt(2::float8);
    end loop;
    return reached;
end
$$;
