-- histogram_of: returns the histogram of durations in milliseconds, as errand_internal.percentiles reads it.
create or replace function errand_internal.histogram_of(durations bigint[]) returns bigint[]
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    counts bigint[] := '{}';
    duration bigint;
    bucket int;
begin
    foreach duration in array durations loop
        bucket := case
            when duration < 1 then 1
            when duration >= 2147483648 then 64
            -- ln() is a little too small at some powers of two.
            else 2 + floor(2 * ln(duration::float8) / ln(2::float8) + 1e-9)::int
        end;
        if cardinality(counts) < bucket then
            counts := counts || array_fill(0::bigint, array[bucket - cardinality(counts)]);
        end if;
        counts[bucket] := counts[bucket] + 1;
    end loop;
    return counts;
end
$$;
