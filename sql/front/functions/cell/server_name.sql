-- server_name: returns the name of the foreign server of a login; null stands for the login public.
create or replace function errand_front.server_name(login text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select 'errand_cells_' || coalesce(login, 'public')
$$;
