-- first_names: returns the first ten of many names as one text, and the number of the others; null for none.
--
--   select errand_internal.first_names('{a, b}');    -- a, b
create or replace function errand_internal.first_names(names text[]) returns text
language sql immutable parallel safe set search_path = pg_catalog, errand, pg_temp as $$
    select array_to_string(names[1:10], ', ')
        || case when cardinality(names) > 10 then format(' and %s more', cardinality(names) - 10) else '' end
$$;
