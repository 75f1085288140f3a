-- nearest: returns the names most similar to a mistyped one, by the pairs of letters that they share.
create or replace function errand_internal.nearest(mistyped text, names text[], most int) returns text[]
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select array_agg(name order by nth)
    from (
        select name, row_number() over (order by likeness desc, abs(length(name) - length(mistyped)), name) as nth
        from (select distinct unnest(names) as name) as named
        cross join lateral (
            select count(*) * 2.0 / (length(name) + length(mistyped)) as likeness
            from generate_series(1, length(mistyped)) as index
            where strpos(name, substr(mistyped, index, 2)) > 0) as compared
    ) as ranked
    where nth <= most
$$;
