-- big_endian: returns the lowest bytes of an integer, the highest of them first.
create or replace function rooms.big_endian(number bigint, bytes int) returns bytea
language plpgsql immutable strict set search_path = pg_catalog, rooms, pg_temp as $$
begin
    return substr(int8send(number), 9 - bytes);
end
$$;
