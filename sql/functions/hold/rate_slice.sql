-- rate_slice: the number of the present twentieth of a span, counted since 1970.
create or replace function errand.rate_slice(per interval) returns bigint
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select floor(extract(epoch from clock_timestamp()) / (extract(epoch from per) / 20))::bigint
$$;
comment on function errand.rate_slice(interval) is 'The number of the present twentieth of a span';
