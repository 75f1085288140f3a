-- sample_percent: returns the percentage of a table that is max_pages pages at most.
create or replace function errand_internal.sample_percent(of_table regclass, max_pages int) returns real
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select least(
        100, 100.0 * max_pages * current_setting('block_size')::int / greatest(pg_relation_size(of_table), 1))::real
$$;
