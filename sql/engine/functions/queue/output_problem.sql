-- output_problem: returns why an attempt's output can't be stored: it has more than 256 KB as text. Null if it can, and
-- if there is none.
-- errand: after payload_bytes
create or replace function errand_internal.output_problem(output jsonb) returns text
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select format('output: expected at most 262144 bytes as text, got %s', coalesce(size.bytes::text, 'more'))
    from (
        select case
            when pg_column_size(output) > 2000 then errand_internal.payload_bytes(output, 262144)
            else octet_length(output::text)
        end as bytes
    ) as size
    where output is not null and coalesce(size.bytes, 262145) > 262144
$$;
