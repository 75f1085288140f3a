-- generates: returns whether a key is that of a card. For media.is_generated.
create or replace function quotes.generates(key text) returns boolean
language sql immutable set search_path = pg_catalog, quotes, pg_temp as $$
    select starts_with(generates.key, 'cards/')
$$;
