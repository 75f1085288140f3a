-- wait_problem: returns why a handler's wait for a signal is none: errand_internal.wait_for_signal. Null if it is one.
create or replace function errand_internal.wait_problem(wait jsonb, until timestamptz) returns text
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select case
        when (length(wait ->> 'for') between 1 and 200 and wait ->> 'for' !~ '[[:cntrl:]]') is not true
            then format('waiting: for: expected a name of 1 to 200 characters, got %s',
                coalesce(quote_literal(left(wait ->> 'for', 120)), 'null'))
        when wait ->> 'by' is not null and to_regrole(quote_ident(wait ->> 'by')) is null
            then format('waiting: by: expected a role, got %s', quote_literal(left(wait ->> 'by', 120)))
        when until is null then 'waiting: until: expected a time, got null'
    end
$$;
