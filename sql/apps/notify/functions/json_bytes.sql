-- json_bytes: returns how many bytes a text takes in the JSON of a push, its quotes included. Control characters take
-- six bytes there, and two in PostgreSQL's own JSON.
create or replace function notify.json_bytes(text text) returns int
language sql immutable set search_path = pg_catalog, notify, pg_temp as $$
    select octet_length(to_json(text)::text) + 4 * (length(text) - length(translate(text, E'\b\f\n\r\t', '')))
$$;
