-- without_errors: returns a job's record of attempts with blanked errors.
create or replace function errand_internal.without_errors(attempts jsonb) returns jsonb
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select jsonb_agg(
        case when attempt ? 'error' then attempt || '{"error": "erased"}' else attempt end order by ordinal)
    from jsonb_array_elements(attempts) with ordinality as one (attempt, ordinal)
$$;
